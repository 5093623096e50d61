// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>
#include <signal.h>

namespace ria {

/// Signals to the calling thread wait while it lives. oneDNN's products of few columns keep their
/// stack pointer in a buffer on the heap: a handler that ran then would write over what lies before
/// it.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

}  // namespace ria
