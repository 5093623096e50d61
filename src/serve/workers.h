// SPDX-License-Identifier: MIT
// The cores, and who waits for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ria {

/// More wait already than may.
struct Busy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One thread a core. A task that is alone may use all cores; with others beside it, it has one.
class Workers {
 public:
  /// 0 threads: all cores. At most `queue` tasks wait.
  Workers(int threads, int queue);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs the body with the number of its cores and returns when it has ended; what it throws is
  /// thrown here. Throws Busy at once where the queue is full.
  void run(const std::function<void(int cores)>& body);

  bool full() const;
  int waiting() const;
  int running() const;
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  struct Task;
  void work(bool first);

  const std::size_t queue_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Task*> tasks_;
  int running_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ria
