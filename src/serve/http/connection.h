// SPDX-License-Identifier: MIT
// One client: bytes within limits of size and time, with or without TLS.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ria {

/// Certificate and key, ready for connections.
class Tls {
 public:
  /// Throws std::runtime_error naming the file.
  Tls(const std::string& certificate, const std::string& key);
  SSL* session() const { return SSL_new(context_.get()); }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
};

/// Whatever a client sends, a request ends: reading fails when its time or its bytes are spent.
/// Answers are gathered and sent in one piece.
class Connection final : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Fault { kNone, kSlow, kLargeHead, kLargeBody, kBusy };

  explicit Connection(int descriptor);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The one that the calling thread serves.
  static Connection*& current();

  /// Shakes hands; false: that failed.
  bool secure(const Tls& tls, double seconds);
  /// Whether a request begins within this time; false at the end, or when `ending` says so.
  template <typename Ending>
  bool wait_for_request(double seconds, const Ending& ending);
  /// From here on reading fails after so many bytes or seconds.
  void begin(std::size_t bytes, double seconds);
  /// As many bytes more.
  void allow(std::size_t bytes) { budget_ += bytes; }
  /// Reads what is left of a request whose answer is sent; false: it does not come soon.
  bool discard();
  /// Sends what was written; a client that does not take it is left.
  bool flush();
  /// Ends it so that the client reads the last answer, even if it is still sending.
  void close_gently();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return descriptor_; }

  Fault fault = Fault::kNone;
  bool in_body = false;    ///< the head was read and admitted
  bool answered = false;   ///< something was written since begin()
  bool close = false;      ///< behind this answer
  std::size_t unread = 0;  ///< bytes of the body that nobody wants
  Clock::time_point began;

 private:
  bool wait(short events, Clock::time_point until) const;
  /// More bytes into the buffer; false: none will come.
  bool fill(Clock::time_point until);
  ssize_t receive(char* to, std::size_t size);
  ssize_t send_some(const char* from, std::size_t size);
  bool wait_for_tls(int result, Clock::time_point until);

  int descriptor_;
  SSL* tls_ = nullptr;
  short wanted_ = 0;  // what TLS waits for
  std::vector<char> in_ = std::vector<char>(16384);
  std::size_t in_begin_ = 0, in_end_ = 0;
  std::string out_;
  std::size_t budget_ = 0;
  Clock::time_point deadline_;
  bool broken_ = false;
};

template <typename Ending>
bool Connection::wait_for_request(double seconds, const Ending& ending) {
  constexpr std::chrono::milliseconds kStep(100);
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (in_begin_ == in_end_) {
    if (ending() || broken_ || Clock::now() >= until) return false;
    fill(Clock::now() + kStep);
  }
  return true;
}

}  // namespace ria
