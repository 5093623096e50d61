// SPDX-License-Identifier: MIT
// A PostgreSQL server with pgvector as a child process: PGlite, where './run' has fetched it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "support/run_program.h"

namespace ria {

class Pglite {
 public:
  static std::string packages() { return RIA_BINARY_DIR "/pglite"; }
  static bool is_here() {
    return std::filesystem::exists(packages() + "/node_modules/@electric-sql/pglite-socket") &&
           std::filesystem::exists(node());
  }

  /// `folder` is for what it writes. A server that will be killed keeps its database there.
  Pglite(std::filesystem::path folder, bool on_disk) : folder_(std::move(folder)) {
    data_ = on_disk ? (folder_ / "database").string() : "memory://";
    start();
  }

  /// Again, after its end, where it was; see pglite_server.mjs for the last argument.
  void start(int die_after_commits = 0) {
    const std::filesystem::path out = folder_ / "port";
    std::ofstream(out).close();
    cli_test::Surroundings at;
    at.folder = folder_;
    at.stdout_file = out.string();
    cli_test::Args args = {RIA_SOURCE_DIR "/tests/support/pglite_server.mjs",
                           packages(),
                           data_,
                           std::to_string(port_)};
    if (die_after_commits > 0) args.push_back(std::to_string(die_after_commits));
    program_ = std::make_unique<cli_test::Program>(node(), args, at);
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!(std::ifstream(out) >> port_)) {
      if (program_->ended() || std::chrono::steady_clock::now() > latest) {
        throw std::runtime_error("PGlite does not start: " + program_->wait().err);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void kill() {
    program_->send(SIGKILL);
    program_->wait();
  }
  bool ended() { return program_->ended(); }

  /// The name of a map there.
  std::string url(const std::string& more = "") const {
    return fmt::format(
        "postgresql://postgres:secret@127.0.0.1:{}/postgres?sslmode=disable{}", port_, more);
  }

 private:
  static std::string node() { return "/usr/bin/node"; }

  std::filesystem::path folder_;
  std::string data_;
  int port_ = 0;
  std::unique_ptr<cli_test::Program> program_;
};

}  // namespace ria

/// At the start of a test: it is skipped where PGlite is missing.
#define RIA_NEEDS_PGLITE() \
  if (!ria::Pglite::is_here()) GTEST_SKIP() << "no PGlite: './run test' fetches it"
