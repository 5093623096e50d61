// SPDX-License-Identifier: MIT
// The real program as a child process, without a shell in between.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ria::cli_test {

using Args = std::vector<std::string>;

inline Args operator+(Args left, const Args& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

struct Result {
  int exit_code = -1;  ///< 128 + the signal's number if a signal ended it
  std::string out, err;
};

/// Where and how a child runs.
struct Surroundings {
  std::filesystem::path folder;            ///< its working folder
  std::map<std::string, std::string> env;  ///< set on top of the parent's
  rlim_t file_size_limit = RLIM_INFINITY;  ///< bytes; writing past it fails with EFBIG
  std::string stdout_file;                 ///< instead of catching standard output
  bool terminal = false;                   ///< standard error is a terminal
};

/// A running child. Standard output goes to a nameless file, standard error there too or to a
/// pseudo-terminal, so that neither can block it.
class Program {
 public:
  Program(const std::string& file, const Args& args, const Surroundings& at) {
    out_ = std::tmpfile();
    err_ = std::tmpfile();
    int child_err = ::fileno(err_);
    if (at.terminal && ::openpty(&terminal_, &child_err, nullptr, nullptr, nullptr) != 0) {
      throw std::runtime_error("cannot open a pseudo-terminal");
    }
    pid_ = ::fork();
    if (pid_ == 0) become(file, args, at, ::fileno(out_), child_err);
    if (at.terminal) ::close(child_err);
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (terminal_ >= 0) ::close(terminal_);
    std::fclose(out_);
    std::fclose(err_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send(int signal_number) const { ::kill(pid_, signal_number); }

  /// Whether it has asked to be told of this signal.
  bool catches(int signal_number) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigCgt:")) {
        return (std::stoull(line.substr(7), nullptr, 16) >> (signal_number - 1) & 1) != 0;
      }
    }
    return false;
  }

  /// Whether the text came on the terminal before the end.
  bool wait_for(const std::string& text) {
    while (shown_.find(text) == std::string::npos) {
      if (!read_terminal()) return false;
    }
    return true;
  }

  bool ended() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }

  Result wait() {
    while (terminal_ >= 0 && read_terminal()) {
    }
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return {code, content(out_), terminal_ >= 0 ? shown_ : content(err_)};
  }

 private:
  [[noreturn]] static void become(
      const std::string& file, const Args& args, const Surroundings& at, int out, int err) {
    std::vector<char*> words{const_cast<char*>(file.c_str())};
    for (const std::string& arg : args) words.push_back(const_cast<char*>(arg.c_str()));
    words.push_back(nullptr);
    for (const auto& [name, value] : at.env) ::setenv(name.c_str(), value.c_str(), 1);
    const rlimit limit{at.file_size_limit, at.file_size_limit};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    ::signal(SIGINT, SIG_DFL);
    ::dup2(at.stdout_file.empty() ? out : ::open(at.stdout_file.c_str(), O_WRONLY), STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    if (::chdir(at.folder.c_str()) == 0) ::execv(file.c_str(), words.data());
    ::_exit(127);
  }

  bool read_terminal() {
    char bytes[4096];
    pollfd ready{terminal_, POLLIN, 0};
    if (::poll(&ready, 1, 60'000) != 1) return false;
    const ssize_t count = ::read(terminal_, bytes, sizeof bytes);
    if (count > 0) shown_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;  // EIO: the child has closed its end
  }

  static std::string content(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    return text;
  }

  pid_t pid_ = -1;
  int status_ = 0;
  int terminal_ = -1;
  std::FILE* out_ = nullptr;
  std::FILE* err_ = nullptr;
  std::string shown_;
};

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

/// Standard error without the lines of progress ("describing 6/6  110.8/s  in 0:00").
inline std::vector<std::string> complaints(const std::string& err) {
  std::vector<std::string> kept;
  for (const std::string& line : lines(err)) {
    const bool progress = line.starts_with("describing ") || line.starts_with("indexing ") ||
                          line.starts_with("rendering ") || line.starts_with("downloading ") ||
                          line.starts_with("comparing ") || line.starts_with("closing loops ") ||
                          line.starts_with("clustering ") || line.starts_with("checking ") ||
                          line.starts_with("saving ") || line.starts_with("starting MLPs ") ||
                          line.starts_with("training step ") || line.starts_with("features ") ||
                          line.starts_with("validation step ");
    if (!progress) kept.push_back(line);
  }
  return kept;
}

}  // namespace ria::cli_test
