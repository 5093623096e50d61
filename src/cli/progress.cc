// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace ria::cli {

namespace {

using Clock = std::chrono::steady_clock;

std::string duration(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

class Line {
 public:
  explicit Line(std::string label)
      : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) {}

  void show(int done, int total) {
    if (total == 1) return;
    const Clock::time_point now = Clock::now();
    if (first_done_ < 0) {  // a resumed run starts in the middle; its rate counts from there
      first_done_ = done - 1;
      start_ = last_ = now;
      if (done < total && terminal_) return;
    }
    const bool end = done == total;
    const double every = terminal_ ? 0.1 : 10.0;
    if (!end && std::chrono::duration<double>(now - last_).count() < every) return;
    last_ = now;
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    const double rate = elapsed > 0 ? (done - first_done_) / elapsed : 0;
    const std::string tail =
        end ? "in " + duration(elapsed) : duration(rate > 0 ? (total - done) / rate : 0) + " left";
    const std::string text = fmt::format("{} {}/{}  {:.1f}/s  {}", label_, done, total, rate, tail);
    const bool newline = end || !terminal_;
    fmt::print(stderr,
               "{}{}{}{}",
               terminal_ ? "\r" : "",
               text,
               terminal_ ? "\x1b[K" : "",
               newline ? "\n" : "");
    std::fflush(stderr);
  }

 private:
  std::string label_;
  bool terminal_;
  int first_done_ = -1;
  Clock::time_point start_, last_;
};

}  // namespace

ProgressCallback progress_line(const std::string& label) {
  return [line = std::make_shared<Line>(label)](int done, int total) { line->show(done, total); };
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace ria::cli
