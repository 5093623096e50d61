// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

namespace ria::cli {

namespace {

using Clock = std::chrono::steady_clock;

std::string duration(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// How a count is written.
using Words = std::function<std::string(double)>;

std::string plain(double count) { return fmt::format("{:.0f}", count); }

class Line {
 public:
  Line(std::string label, Words words, Words rate_words)
      : label_(std::move(label)),
        words_(std::move(words)),
        rate_words_(std::move(rate_words)),
        terminal_(isatty(STDERR_FILENO) != 0) {}

  /// `before`: what was done when the first step began. A resumed run starts in the middle; its
  /// rate counts from there. A total of 0 is not known.
  void show(double done, double total, double before) {
    const Clock::time_point now = Clock::now();
    const bool end = done == total;
    if (first_done_ < 0) {
      first_done_ = before;
      start_ = last_ = now;
      if (!end && terminal_) return;
    }
    const double every = terminal_ ? 0.1 : 10.0;
    if (!end && std::chrono::duration<double>(now - last_).count() < every) return;
    last_ = now;
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    const double rate = elapsed > 0 ? (done - first_done_) / elapsed : 0;
    print(fmt::format("{} {}{}  {}/s{}",
                      label_,
                      words_(done),
                      total > 0 ? "/" + words_(total) : "",
                      rate_words_(rate),
                      tail(done, total, rate, elapsed)),
          end || !terminal_);
    if (end) first_done_ = -1;  // what comes next has a clock of its own
  }

 private:
  static std::string tail(double done, double total, double rate, double elapsed) {
    if (total <= 0) return "";
    if (done == total) return "  in " + duration(elapsed);
    return "  " + duration(rate > 0 ? (total - done) / rate : 0) + " left";
  }

  void print(const std::string& text, bool newline) const {
    fmt::print(stderr,
               "{}{}{}{}",
               terminal_ ? "\r" : "",
               text,
               terminal_ ? "\x1b[K" : "",
               newline ? "\n" : "");
    std::fflush(stderr);
  }

  std::string label_;
  Words words_, rate_words_;
  bool terminal_;
  double first_done_ = -1;
  Clock::time_point start_, last_;
};

}  // namespace

ProgressCallback progress_line(const std::string& label) {
  const Words rate = [](double count) { return fmt::format("{:.1f}", count); };
  return [line = std::make_shared<Line>(label, plain, rate)](int done, int total) {
    if (total != 1) line->show(done, total, done - 1);
  };
}

std::function<void(std::uint64_t, std::uint64_t)> byte_progress_line(const std::string& label) {
  const Words words = [](double bytes) { return byte_count(static_cast<std::uint64_t>(bytes)); };
  return [line = std::make_shared<Line>(label, words, words)](std::uint64_t done,
                                                              std::uint64_t total) {
    line->show(static_cast<double>(done), static_cast<double>(total), static_cast<double>(done));
  };
}

std::string byte_count(std::uint64_t bytes) {
  constexpr double kStep = 1000;
  double value = static_cast<double>(bytes);
  if (value < kStep) return fmt::format("{} B", bytes);
  for (const char* unit : {"kB", "MB"}) {
    value /= kStep;
    if (value < kStep) return fmt::format("{:.1f} {}", value, unit);
  }
  return fmt::format("{:.2f} GB", value / kStep);
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace ria::cli
