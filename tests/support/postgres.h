// SPDX-License-Identifier: MIT
// Debian's PostgreSQL, which has no pgvector, as a child process.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/run_program.h"

namespace ria {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

/// One that nobody listens at now.
inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

inline bool somebody_listens(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const int refused =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(socket);
  return refused == 0;
}

class PostgresServer {
 public:
  static bool is_here() { return std::filesystem::exists("/usr/lib/postgresql"); }

  /// Returns when it listens. `folder` is for its files.
  explicit PostgresServer(const std::filesystem::path& folder)
      : port_(free_port()),
        program_(RIA_SOURCE_DIR "/tests/support/postgres_server.sh",
                 {folder.string(), std::to_string(port_)},
                 in(folder)) {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!somebody_listens(port_)) {
      if (program_.ended() || std::chrono::steady_clock::now() > latest) {
        throw std::runtime_error("PostgreSQL does not start: " + program_.wait().err);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::string url(const std::string& password) const {
    return fmt::format(
        "postgresql://postgres:{}@127.0.0.1:{}/postgres?sslmode=disable", password, port_);
  }

 private:
  static cli_test::Surroundings in(const std::filesystem::path& folder) {
    cli_test::Surroundings at;
    at.folder = folder;
    return at;
  }

  int port_;
  cli_test::Program program_;
};

}  // namespace ria
