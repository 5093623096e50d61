// SPDX-License-Identifier: MIT
#include "serve/http/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace ria {

namespace {

constexpr std::size_t kSendAt = 1 << 18;                    // bytes gathered before they are sent
constexpr std::chrono::seconds kSendTime(20), kParting(2);  // for a client that does not take them

void address_of(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  }
  ip = text;
}

}  // namespace

Tls::Tls(const std::string& certificate, const std::string& key)
    : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
  const auto require = [](bool done, const char* what, const std::string& file) {
    if (done) return;
    const char* reason = ERR_reason_error_string(ERR_get_error());
    throw std::runtime_error(
        fmt::format("cannot use the {} {}: {}", what, file, reason ? reason : "unknown reason"));
  };
  require(context_ != nullptr, "library for", certificate);
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  require(SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str()) == 1,
          "certificate",
          certificate);
  require(SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM) == 1 &&
              SSL_CTX_check_private_key(context_.get()) == 1,
          "key",
          key);
}

Connection::Connection(int descriptor) : descriptor_(descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  const int on = 1;  // answers are sent in one piece: nothing to wait for
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() {
  SSL_free(tls_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Connection*& Connection::current() {
  thread_local Connection* connection = nullptr;
  return connection;
}

bool Connection::secure(const Tls& tls, double seconds) {
  tls_ = tls.session();
  if (tls_ == nullptr || SSL_set_fd(tls_, descriptor_) != 1) return false;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds));
  for (;;) {
    ERR_clear_error();
    const int done = SSL_accept(tls_);
    if (done == 1) return true;
    if (!wait_for_tls(done, until)) return false;
  }
}

void Connection::begin(std::size_t bytes, double seconds) {
  budget_ = bytes;
  began = Clock::now();
  deadline_ =
      began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  fault = Fault::kNone;
  in_body = answered = close = false;
  unread = 0;
}

bool Connection::wait(short events, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{descriptor_, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::max<long>(0, left)));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

bool Connection::wait_for_tls(int result, Clock::time_point until) {
  const int error = SSL_get_error(tls_, result);
  if (error == SSL_ERROR_WANT_READ) return wait(POLLIN, until);
  if (error == SSL_ERROR_WANT_WRITE) return wait(POLLOUT, until);
  return false;
}

ssize_t Connection::receive(char* to, std::size_t size) {
  wanted_ = POLLIN;
  if (tls_ == nullptr) return ::recv(descriptor_, to, size, 0);
  ERR_clear_error();
  const int count = SSL_read(tls_, to, static_cast<int>(size));
  if (count > 0) return count;
  const int error = SSL_get_error(tls_, count);
  if (error == SSL_ERROR_WANT_WRITE) wanted_ = POLLOUT;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EIO;
  return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

ssize_t Connection::send_some(const char* from, std::size_t size) {
  wanted_ = POLLOUT;
  if (tls_ == nullptr) return ::send(descriptor_, from, size, MSG_NOSIGNAL);
  ERR_clear_error();
  const int count = SSL_write(tls_, from, static_cast<int>(std::min<std::size_t>(size, 1 << 20)));
  if (count > 0) return count;
  const int error = SSL_get_error(tls_, count);
  if (error == SSL_ERROR_WANT_READ) wanted_ = POLLIN;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EIO;
  return -1;
}

bool Connection::fill(Clock::time_point until) {
  if (broken_) return false;
  in_begin_ = in_end_ = 0;
  for (;;) {
    const ssize_t count = receive(in_.data(), in_.size());
    if (count > 0) {
      in_end_ = static_cast<std::size_t>(count);
      return true;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      broken_ = true;
      return false;
    }
    if (!wait(wanted_, until)) return false;
  }
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (fault != Fault::kNone) return -1;
  if (Clock::now() >= deadline_) {
    fault = Fault::kSlow;
    return -1;
  }
  if (budget_ == 0) {
    fault = in_body ? Fault::kLargeBody : Fault::kLargeHead;
    return -1;
  }
  if (in_begin_ == in_end_ && !fill(deadline_)) {
    if (!broken_) fault = Fault::kSlow;
    return broken_ ? 0 : -1;
  }
  const std::size_t count = std::min({size, in_end_ - in_begin_, budget_});
  std::memcpy(to, in_.data() + in_begin_, count);
  in_begin_ += count;
  budget_ -= count;
  return static_cast<ssize_t>(count);
}

bool Connection::discard() {
  char gone[4096];
  budget_ = unread;
  in_body = true;
  deadline_ = Clock::now() + kParting;
  while (unread > 0) {
    const ssize_t count = read(gone, std::min(unread, sizeof gone));
    if (count <= 0) return false;
    unread -= static_cast<std::size_t>(count);
  }
  return true;
}

ssize_t Connection::write(const char* from, std::size_t size) {
  answered = true;
  out_.append(from, size);
  const bool interim = out_.starts_with("HTTP/1.1 100");  // the client waits for it
  if ((out_.size() >= kSendAt || interim) && !flush()) return -1;
  return static_cast<ssize_t>(size);
}

bool Connection::flush() {
  const auto until = Clock::now() + kSendTime;
  std::size_t sent = 0;
  while (sent < out_.size() && !broken_) {
    const ssize_t count = send_some(out_.data() + sent, out_.size() - sent);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count == 0 || errno != EAGAIN || !wait(wanted_, until)) {
      broken_ = true;
    }
  }
  out_.clear();
  if (out_.capacity() > kSendAt) out_.shrink_to_fit();
  return !broken_;
}

void Connection::close_gently() {
  if (!broken_ && tls_ != nullptr) SSL_shutdown(tls_);
  ::shutdown(descriptor_, SHUT_WR);
  // What was sent and not read would make the system throw the answer away.
  const auto until = Clock::now() + kParting;
  char gone[4096];
  while (!broken_ && Clock::now() < until && wait(POLLIN, until)) {
    if (::recv(descriptor_, gone, sizeof gone, 0) <= 0) break;
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  address_of(address, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  address_of(address, ip, port);
}

}  // namespace ria
