// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/recent_rate.h"

namespace ria::cli {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> line_is_open{false};

std::string duration(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// How a count is written.
using Words = std::function<std::string(double)>;

std::string plain(double count) { return fmt::format("{:.0f}", count); }

/// A line of standard error that redraws itself on a terminal and is written now and then
/// elsewhere.
class Screen {
 public:
  bool terminal() const { return terminal_; }
  /// Seconds between two lines.
  double every() const { return terminal_ ? 0.1 : 10.0; }

  void print(const std::string& text, bool end) const {
    const bool newline = end || !terminal_;
    line_is_open = !newline;
    fmt::print(stderr,
               "{}{}{}{}",
               terminal_ ? "\r" : "",
               text,
               terminal_ ? "\x1b[K" : "",
               newline ? "\n" : "");
    std::fflush(stderr);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

class Line {
 public:
  Line(std::string label, Words words, Words rate_words)
      : label_(std::move(label)), words_(std::move(words)), rate_words_(std::move(rate_words)) {}

  /// `before`: what was done when the first step began. A resumed run starts in the middle; its
  /// rate counts from there. A total of 0 is not known.
  void show(double done, double total, double before) {
    const double now = seconds_now();
    const bool end = done == total;
    if (first_done_ < 0) {
      first_done_ = before;
      start_ = last_ = now;
      recent_ = RecentRate();
    }
    recent_.add(now, done);
    if (start_ == now && !end && screen_.terminal()) return;
    if (!end && now - last_ < screen_.every()) return;
    last_ = now;
    const double elapsed = now - start_;
    const double mean = elapsed > 0 ? (done - first_done_) / elapsed : 0;
    const double rate = end ? mean : recent_.per_second();
    screen_.print(fmt::format("{} {}{}  {}/s{}",
                              label_,
                              words_(done),
                              total > 0 ? "/" + words_(total) : "",
                              rate_words_(rate),
                              tail(done, total, rate, elapsed)),
                  end);
    if (end) first_done_ = -1;  // what comes next has a clock of its own
  }

 private:
  static std::string tail(double done, double total, double rate, double elapsed) {
    if (total <= 0) return "";
    if (done == total) return "  in " + duration(elapsed);
    return rate > 0 ? "  " + duration((total - done) / rate) + " left" : "";
  }

  std::string label_;
  Words words_, rate_words_;
  Screen screen_;
  double first_done_ = -1;
  double start_ = 0, last_ = 0;  // seconds of the clock
  RecentRate recent_;
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

std::function<void(const TrainProgress&)> training_line() {
  struct State {
    Screen screen;
    double last = 0;
    ProgressCallback features = progress_line("features");
    ProgressCallback start = progress_line("starting MLPs");
  };
  return [state = std::make_shared<State>()](const TrainProgress& at) {
    if (at.stage == "features") return state->features(at.pictures_done, at.pictures);
    if (at.stage == "start") return state->start(at.pictures_done, at.pictures);
    const double now = seconds_now();
    const bool end = at.stage == "training" && at.step == at.steps;
    if (!end && now - state->last < state->screen.every()) return;
    state->last = now;
    std::string text = fmt::format("{} step {}/{}", at.stage, at.step, at.steps);
    if (at.epochs > 0) text += fmt::format("  epoch {}/{}", at.epoch, at.epochs);
    if (at.step > 0) text += fmt::format("  loss {:.4f}", at.loss);
    if (at.recall_at_1) text += fmt::format("  R@1 {:.1f}", *at.recall_at_1);
    if (at.pictures_per_second > 0)
      text += fmt::format("  {:.1f} pictures/s", at.pictures_per_second);
    if (at.seconds_left > 0) text += "  " + duration(at.seconds_left) + " left";
    state->screen.print(text, end);
  };
}

const char* progress_line_end() { return line_is_open.exchange(false) ? "\n" : ""; }

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
