// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "cli/progress.h"
#include "util/temporary.h"

namespace ria::cli {

namespace {

using std::chrono::milliseconds;

std::atomic<int> patience{1500};  // milliseconds

int pipe_ends[2];
volatile sig_atomic_t signals = 0;
std::atomic<bool> end_is_decided{false};

std::stop_source& source() {
  static std::stop_source& only = *new std::stop_source;  // watched until the process is gone
  return only;
}

// A handler may do almost nothing: it wakes a thread that may do everything.
void on_signal(int) {
  const int error = errno;
  signals = signals + 1;
  const char byte = 0;
  if (signals > 2 || write(pipe_ends[1], &byte, 1) != 1) _exit(kInterruptedExit);
  errno = error;
}

/// Returns at the next signal or when the time is over; a negative time never is.
void wait_for_signal(milliseconds at_most) {
  pollfd ready{pipe_ends[0], POLLIN, 0};
  while (poll(&ready, 1, static_cast<int>(at_most.count())) < 0 && errno == EINTR) {
  }
  char byte = 0;
  if ((ready.revents & POLLIN) != 0 && read(pipe_ends[0], &byte, 1) != 1) return;
}

/// Not by stdio, whose locks belong to threads that go on; not at all where nobody reads.
void say(const std::string& text) {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void watch() {
  wait_for_signal(milliseconds(-1));
  source().request_stop();
  wait_for_signal(milliseconds(patience));
  if (!end_is_decided.exchange(true)) {
    remove_temporaries();
    say(fmt::format("{}ria: {}\n", progress_line_end(), interrupted_text("interrupted")));
  }
  _exit(kInterruptedExit);
}

}  // namespace

void watch_for_interrupts() {
  source();
  if (pipe(pipe_ends) != 0) throw std::runtime_error("cannot make a pipe");
  std::thread(watch).detach();
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // reading and writing go on: a stop is asked for elsewhere
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void be_patient(int time) { patience = time; }

std::stop_token stop_on_interrupt() { return source().get_token(); }

std::string interrupted_text(const std::string& what) {
  return what + "; run the same command again to finish";
}

void command_has_ended() {
  if (!end_is_decided.exchange(true)) return;
  for (;;) pause();
}

}  // namespace ria::cli
