// SPDX-License-Identifier: MIT
// HTTP by cpp-httplib: it parses requests and writes answers; connections, their number, sizes and
// times are kept here.
#include <fmt/format.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "serve/http.h"
#include "serve/http/connection.h"
#include "util/plugin.h"

namespace ria {

namespace {

constexpr std::size_t kMostTarget = 2048;    // bytes of path and query
constexpr std::size_t kForgotten = 1 << 18;  // bytes of a body that are read behind a refusal
constexpr std::size_t kMostParts = 32, kMostField = 4096;

/// A thread a connection, as many as there may be connections; the next one is refused by the
/// thread that accepts.
class Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(int most) : most_(most) {}

  /// Whether the calling thread has a connection too many.
  static bool& refusing() {
    thread_local bool refused = false;
    return refused;
  }

  void enqueue(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      if (active_ < most_) {
        ++active_;
        tasks_.push_back(std::move(task));
        if (tasks_.size() > idle_) threads_.emplace_back([this] { work(); });
        ready_.notify_one();
        return;
      }
    }
    refusing() = true;
    task();
    refusing() = false;
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    ready_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      ready_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
      --active_;
    }
  }

  const int most_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  int active_ = 0;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

bool is_number(const std::string& length) {
  return length.find_first_not_of("0123456789") == length.npos;
}

HttpRequest head_of(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.target = from.target;
  request.content_type = from.get_header_value("Content-Type");
  request.authorization = from.get_header_value("Authorization");
  request.host = from.get_header_value("Host");
  request.origin = from.get_header_value("Origin");
  const std::string length = from.get_header_value("Content-Length");
  request.content_length = std::strtoull(length.c_str(), nullptr, 10);
  request.has_body = (!length.empty() && length != "0") || from.has_header("Transfer-Encoding");
  return request;
}

void fill(httplib::Response& to, const HttpResponse& from) {
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  if (!from.body.empty()) to.set_content(from.body, from.content_type);
}

class HttpServer final : public httplib::Server {
 public:
  HttpServer(const HttpOptions& options, const HttpHandlers& handlers)
      : options_(options), handlers_(handlers) {
    if (!options.certificate.empty())
      tls_ = std::make_unique<Tls>(options.certificate, options.key);
    new_task_queue = [most = options.max_connections] { return new Threads(most); };
    set_socket_options([](socket_t socket) {  // httplib's own let two services share a port
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    set_payload_max_length(options.max_body);
    set_keep_alive_timeout(static_cast<time_t>(options.idle_seconds));
    set_keep_alive_max_count(1000000);  // said to clients; there is no limit
    set_pre_routing_handler([this](const auto& from, auto& to) { return admit(from, to); });
    set_error_handler([this](const httplib::Request&, httplib::Response& to) { explain(to); });
    set_logger([this](const auto& from, const auto& to) { record(from, to); });
    set_expect_100_continue_handler([this](const auto& from, auto& to) {
      return admit(from, to) == HandlerResponse::Handled ? to.status : 100;
    });
    constexpr char kAny[] = "[\\s\\S]*";
    const auto plain = [this](const auto& from, auto& to) {
      fill(to, handlers_.answer(head_of(from)));
    };
    const auto reading = [this](const auto& from, auto& to, const httplib::ContentReader& reader) {
      answer(from, to, reader);
    };
    Get(kAny, plain);
    Options(kAny, plain);
    Post(kAny, reading);
    Put(kAny, reading);
    Patch(kAny, reading);
    Delete(kAny, reading);
  }

  void run(std::stop_token stop) {
    const int port = options_.port == 0                           ? bind_to_any_port(options_.host)
                     : bind_to_port(options_.host, options_.port) ? options_.port
                                                                  : -1;
    if (port <= 0) {
      throw std::runtime_error(fmt::format(
          "cannot listen on {} port {}: it is taken, or not ours", options_.host, options_.port));
    }
    ::listen(svr_sock_, 512);  // more may wait than httplib lets
    std::atomic<bool> over = false;
    std::thread stopper([&] {
      constexpr std::chrono::milliseconds kStep(20);
      for (; !over && !stop.stop_requested(); std::this_thread::sleep_for(kStep)) {
      }
      ending_ = true;
      // httplib does not hear it before it listens.
      for (; !over; std::this_thread::sleep_for(kStep)) this->stop();
    });
    handlers_.listening(port);
    listen_after_bind();
    over = true;
    stopper.join();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket);
    if (Threads::refusing()) {
      refuse(connection);
      return true;
    }
    if (tls_ && !connection.secure(*tls_, options_.idle_seconds)) return false;
    Connection::current() = &connection;
    while (serve_one(connection)) {
    }
    Connection::current() = nullptr;
    connection.close_gently();
    return true;
  }

  /// Whether another request may follow.
  bool serve_one(Connection& connection) {
    if (!connection.wait_for_request(options_.idle_seconds, [this] { return ending_.load(); })) {
      return false;
    }
    connection.begin(options_.max_header, options_.request_seconds);
    bool closed = false;
    const bool done = process_request(connection, ending_, closed, [](httplib::Request& request) {
      request.ranges.clear();  // everything is answered whole
    });
    if (!connection.answered && connection.fault != Connection::Fault::kNone) give_up(connection);
    const bool sent = connection.flush();
    bodies_ -= connection_bytes();
    connection_bytes() = 0;
    return done && sent && !closed && !connection.close && !ending_ &&
           connection.fault == Connection::Fault::kNone && connection.discard();
  }

  /// Bytes of the body that the calling thread holds.
  static std::size_t& connection_bytes() {
    thread_local std::size_t bytes = 0;
    return bytes;
  }

  /// An answer without httplib, where it gives none.
  void send(Connection& connection, const HttpResponse& response) const {
    const std::string head = fmt::format(
        "HTTP/1.1 {} Refused\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
        "Connection: close\r\n",
        response.status,
        response.content_type,
        response.body.size());
    connection.write(head.data(), head.size());
    for (const auto& [name, value] : response.headers) {
      const std::string line = name + ": " + value + "\r\n";
      connection.write(line.data(), line.size());
    }
    connection.write("\r\n", 2);
    connection.write(response.body.data(), response.body.size());
  }

  void refuse(Connection& connection) const {
    if (!tls_) {
      send(connection, handlers_.error(503));
      connection.flush();
    }
    handlers_.record({"", "", "", 503, 0, 0});
  }

  void give_up(Connection& connection) const {
    const int status = fault_status(connection.fault);
    send(connection, handlers_.error(status));
    HttpRecord record{"", "", "", status, 0, seconds_since(connection.began)};
    int port = 0;
    connection.get_remote_ip_and_port(record.remote, port);
    handlers_.record(record);
  }

  static double seconds_since(Connection::Clock::time_point began) {
    return std::chrono::duration<double>(Connection::Clock::now() - began).count();
  }

  static int fault_status(Connection::Fault fault) {
    switch (fault) {
      case Connection::Fault::kSlow:
        return 408;
      case Connection::Fault::kLargeHead:
        return 431;
      case Connection::Fault::kLargeBody:
        return 413;
      case Connection::Fault::kBusy:
        return 503;
      case Connection::Fault::kNone:
        break;
    }
    return 400;
  }

  HandlerResponse admit(const httplib::Request& from, httplib::Response& to) {
    Connection& connection = *Connection::current();
    const HttpRequest request = head_of(from);
    std::optional<HttpResponse> refusal;
    if (from.target.size() > kMostTarget) {
      refusal = handlers_.error(414);
    } else if (!is_number(from.get_header_value("Content-Length"))) {
      refusal = handlers_.error(400);
    } else if (request.content_length > options_.max_body) {
      refusal = handlers_.error(413);
    } else {
      refusal = handlers_.admit(request);
    }
    if (!refusal) {
      if (!connection.in_body) connection.allow(options_.max_body + options_.max_body / 8 + 65536);
      connection.in_body = true;
      return HandlerResponse::Unhandled;
    }
    fill(to, *refusal);
    if (request.has_body && !forgets(from, request)) leave_behind(to);
    return HandlerResponse::Handled;
  }

  /// A short body that is still to come is read and forgotten: clients that connect anew after
  /// every refusal would cost more than its bytes.
  static bool forgets(const httplib::Request& from, const HttpRequest& request) {
    if (from.has_header("Expect") || from.has_header("Transfer-Encoding") ||
        request.content_length > kForgotten) {
      return false;
    }
    Connection::current()->unread = request.content_length;
    return true;
  }

  /// What is left of the body is no request.
  static void leave_behind(httplib::Response& to) {
    Connection::current()->close = true;
    to.set_header("Connection", "close");
  }

  /// Room for more of a body.
  bool take(std::size_t size, std::size_t& total) {
    Connection& connection = *Connection::current();
    total += size;
    if (total > options_.max_body) {
      connection.fault = Connection::Fault::kLargeBody;
      return false;
    }
    connection_bytes() += size;
    if (bodies_ += size; bodies_ <= options_.max_bodies) return true;
    connection.fault = Connection::Fault::kBusy;
    return false;
  }

  void answer(const httplib::Request& from,
              httplib::Response& to,
              const httplib::ContentReader& reader) {
    HttpRequest request = head_of(from);
    std::size_t total = 0;
    bool whole = true;
    if (request.has_body && from.is_multipart_form_data()) {
      whole = read_parts(reader, request, total);
    } else if (request.has_body) {
      request.body.reserve(request.content_length);
      whole = reader([&](const char* bytes, std::size_t size) {
        if (!take(size, total)) return false;
        request.body.append(bytes, size);
        return true;
      });
    }
    if (whole) return fill(to, handlers_.answer(request));
    const int status = fault_status(Connection::current()->fault);
    fill(to, handlers_.error(status));
    leave_behind(to);
  }

  bool read_parts(const httplib::ContentReader& reader, HttpRequest& request, std::size_t& total) {
    std::string* part = nullptr;
    std::size_t parts = 0;
    return reader(
        [&](const httplib::MultipartFormData& head) {
          if (++parts > kMostParts || head.name.size() > kMostField) return false;
          part = head.name == "picture" ? &request.body : &request.fields[head.name];
          part->clear();
          return true;
        },
        [&](const char* bytes, std::size_t size) {
          if (part == nullptr || !take(size, total)) return false;
          if (part != &request.body && part->size() + size > kMostField) return false;
          part->append(bytes, size);
          return true;
        });
  }

  /// For a status that httplib has set by itself.
  void explain(httplib::Response& to) const {
    if (!to.body.empty()) return;
    Connection& connection = *Connection::current();
    if (connection.fault != Connection::Fault::kNone) to.status = fault_status(connection.fault);
    fill(to, handlers_.error(to.status));
    leave_behind(to);
  }

  void record(const httplib::Request& from, const httplib::Response& to) const {
    handlers_.record({from.method,
                      from.target,
                      from.remote_addr,
                      to.status,
                      to.body.size(),
                      seconds_since(Connection::current()->began)});
  }

  const HttpOptions& options_;
  const HttpHandlers& handlers_;
  std::unique_ptr<Tls> tls_;
  std::atomic<std::size_t> bodies_ = 0;
  std::atomic<bool> ending_ = false;
};

const HttpFunctions functions{
    [](const HttpOptions& options, const HttpHandlers& handlers, std::stop_token stop) {
      HttpServer(options, handlers).run(std::move(stop));
    }};

}  // namespace

}  // namespace ria

RIA_PLUGIN(http, ria::functions)
