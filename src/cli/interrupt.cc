// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace ria::cli {

namespace {

constexpr int kInterrupted = 130;
int pipe_ends[2];
volatile sig_atomic_t interrupted = 0;

// A handler may do almost nothing: it wakes a thread that may do everything.
void on_signal(int) {
  if (interrupted) _exit(kInterrupted);
  interrupted = 1;
  const char byte = 0;
  if (write(pipe_ends[1], &byte, 1) != 1) _exit(kInterrupted);
}

std::stop_source install() {
  std::stop_source source;
  if (pipe(pipe_ends) != 0) throw std::runtime_error("cannot make a pipe");
  std::thread([source]() mutable {
    char byte = 0;
    if (read(pipe_ends[0], &byte, 1) == 1) source.request_stop();
  }).detach();
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return source;
}

}  // namespace

std::stop_token stop_on_interrupt() {
  static std::stop_source source = install();
  return source.get_token();
}

}  // namespace ria::cli
