// SPDX-License-Identifier: MIT
// A small HTTP server on 127.0.0.1 that answers as a test wants, mistakes included.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ria {

/// What a client asked; header names in lower case.
struct HttpRequest {
  std::string target;
  std::map<std::string, std::string> headers;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// The server's end of one connection.
class HttpConnection {
 public:
  HttpConnection(int descriptor, const std::atomic<bool>& ending)
      : descriptor_(descriptor), ending_(ending) {}

  void send(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count =
          ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  /// Says nothing more until the client hangs up or the server ends.
  void stall() const {
    pollfd gone{descriptor_, POLLIN | POLLRDHUP, 0};
    while (!ending_ && ::poll(&gone, 1, 20) == 0) {
    }
  }

 private:
  int descriptor_;
  const std::atomic<bool>& ending_;
};

/// One connection, one request, one answer.
class LoopbackServer {
 public:
  /// `number`: how many requests came before.
  using Handler = std::function<void(const HttpRequest&, int number, HttpConnection&)>;

  explicit LoopbackServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("cannot listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~LoopbackServer() {
    ending_ = true;
    thread_.join();
    ::close(listener_);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

  std::vector<HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!ending_) {
      pollfd ready{listener_, POLLIN, 0};
      if (::poll(&ready, 1, 20) != 1) continue;
      const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (descriptor < 0) continue;
      const HttpRequest request = read_request(descriptor);
      int number = 0;
      {
        const std::lock_guard lock(mutex_);
        number = static_cast<int>(requests_.size());
        requests_.push_back(request);
      }
      HttpConnection connection(descriptor, ending_);
      handler_(request, number, connection);
      ::shutdown(descriptor, SHUT_WR);
      ::close(descriptor);
    }
  }

  static HttpRequest read_request(int descriptor) {
    std::string text;
    char byte = 0;
    while (text.find("\r\n\r\n") == text.npos && ::recv(descriptor, &byte, 1, 0) == 1) text += byte;
    HttpRequest request;
    const std::size_t first = text.find(' ') + 1;
    request.target = text.substr(first, text.find(' ', first) - first);
    std::size_t at = text.find("\r\n") + 2;
    for (std::size_t end; (end = text.find("\r\n", at)) != text.npos && end > at; at = end + 2) {
      const std::size_t colon = text.find(": ", at);
      std::string name = text.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
      });
      request.headers[name] = text.substr(colon + 2, end - colon - 2);
    }
    return request;
  }

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ending_ = false;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::thread thread_;
};

/// How a file is answered.
struct ServedFile {
  std::string content;
  std::string headers = "ETag: \"one\"\r\n";
  bool ranges = true;    ///< knows Range
  bool if_range = true;  ///< and If-Range
};

/// The answer of a well-behaved server; at most `limit` bytes of the body, then silence.
inline void serve_file(const HttpRequest& request,
                       const HttpConnection& connection,
                       const ServedFile& file,
                       std::size_t limit = std::string::npos) {
  const std::string range = request.header("range");
  const std::string condition = request.header("if-range");
  const bool same = !file.if_range || condition.empty() ||
                    file.headers.find(": " + condition + "\r\n") != std::string::npos;
  std::size_t start = 0;
  std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string size = std::to_string(file.content.size());
  if (file.ranges && same && range.starts_with("bytes=")) {
    start = std::strtoull(range.c_str() + 6, nullptr, 10);
    if (start >= file.content.size()) {
      connection.send("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */" + size +
                      "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(start) + "-" +
           std::to_string(file.content.size() - 1) + "/" + size + "\r\n";
  }
  const std::string body = file.content.substr(start);
  connection.send(head + file.headers + "Content-Length: " + std::to_string(body.size()) +
                  "\r\nConnection: close\r\n\r\n" + body.substr(0, limit));
}

}  // namespace ria
