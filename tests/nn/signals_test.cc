// SPDX-License-Identifier: MIT
// A program's own signals, its profiler's for one, while the library computes.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "nn/gemm.h"

namespace ria {
namespace {

constexpr long kSignals = 100;

std::uintptr_t stack_begin, stack_end;  // of this thread
volatile sig_atomic_t come, beside;

void on_signal(int, siginfo_t*, void* context) {
  const auto* interrupted = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  const auto at = static_cast<std::uintptr_t>(interrupted->uc_mcontext.gregs[REG_RSP]);
  if (at < stack_begin || at > stack_end) beside = beside + 1;
#else
  (void)interrupted;
#endif
  come = come + 1;
}

/// While it lives a signal comes to this thread with every millisecond of its work, on a stack of
/// its own: a mistake is counted and harms nothing.
class Signals {
 public:
  Signals() : stack_(1 << 16) {
    pthread_attr_t attributes;
    void* begin = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    stack_begin = reinterpret_cast<std::uintptr_t>(begin);
    stack_end = stack_begin + size;
    const stack_t own{stack_.data(), 0, stack_.size()};
    sigaltstack(&own, &before_);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGVTALRM, &action, &handled_);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = ::gettid();
    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_);
    const itimerspec often{{0, 1'000'000}, {0, 1'000'000}};
    timer_settime(timer_, 0, &often, nullptr);
  }
  ~Signals() {
    timer_delete(timer_);
    sigaction(SIGVTALRM, &handled_, nullptr);
    sigaltstack(&before_, nullptr);
  }

 private:
  std::vector<char> stack_;
  timer_t timer_{};
  stack_t before_{};
  struct sigaction handled_ {};
};

TEST(Signals, FindAStackWhileMatricesAreMultiplied) {
  come = 0;
  beside = 0;
  const Signals signals;
  for (const auto& [rows, inner, columns] : {std::array{256, 128, 64}, {256, 1024, 128}}) {
    const EigenMatrix a = EigenMatrix::Ones(rows, inner), b = EigenMatrix::Ones(inner, columns);
    EigenMatrix c(rows, columns);
    for (const long enough = come + kSignals; come < enough;) multiply(a, b, 0, c);
    EXPECT_EQ(c(0, 0), static_cast<float>(inner));
  }
  EXPECT_EQ(beside, 0);
}

}  // namespace
}  // namespace ria
