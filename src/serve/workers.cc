// SPDX-License-Identifier: MIT
#include "serve/workers.h"

#include <exception>

#include "ria/backbone.h"
#include "util/parallel.h"

namespace ria {

struct Workers::Task {
  const std::function<void(int)>& body;
  std::exception_ptr error;
  std::condition_variable ended;
  bool done = false;
};

Workers::Workers(int threads, int queue) : queue_(static_cast<std::size_t>(queue)) {
  const int count = resolve_threads(threads);
  for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i == 0); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(const std::function<void(int)>& body) {
  Task task{body, nullptr, {}, false};
  std::unique_lock lock(mutex_);
  const std::size_t free = threads_.size() - static_cast<std::size_t>(running_);
  if (tasks_.size() >= queue_ + free) throw Busy("too many pictures wait already");
  tasks_.push_back(&task);
  ready_.notify_all();
  task.ended.wait(lock, [&] { return task.done; });
  if (task.error) std::rethrow_exception(task.error);
}

/// A task that is alone belongs to the first thread: only that one ever keeps helpers for all
/// cores.
void Workers::work(bool first) {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [&] {
      if (tasks_.empty()) return ending_;
      return first || running_ > 0 || tasks_.size() > 1;
    });
    if (tasks_.empty()) return;
    Task& task = *tasks_.front();
    tasks_.pop_front();
    const bool alone = first && running_ == 0 && tasks_.empty();
    ++running_;
    lock.unlock();
    const int cores = alone ? threads() : 1;
    set_thread_cores(cores);
    try {
      task.body(cores);
    } catch (...) {
      task.error = std::current_exception();
    }
    lock.lock();
    --running_;
    task.done = true;
    task.ended.notify_one();
  }
}

bool Workers::full() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size() >= queue_ + (threads_.size() - static_cast<std::size_t>(running_));
}

int Workers::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(tasks_.size());
}

int Workers::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

}  // namespace ria
