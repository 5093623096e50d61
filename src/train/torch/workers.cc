// SPDX-License-Identifier: MIT
#include "train/torch/workers.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <torch/version.h>
#include <unistd.h>

#include <chrono>
#include <regex>
#include <thread>

// Debian keeps Gloo's headers in a package of their own.
#if defined(USE_C10D_GLOO) && __has_include(<gloo/config.h>)
#define RIA_HAS_GLOO
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#if defined(USE_C10D_NCCL)
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#endif

namespace ria {

std::string one_line(const std::exception& problem) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&problem);
  std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : problem.what();
  text = text.substr(0, text.find('\n'));
  static const std::regex place(R"(^\[[^\]]*\.(cc|cpp|h|hpp):\d+\] *)");
  text = std::regex_replace(text, place, "");
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text.empty() ? "no reason was given" : text;
}

#ifdef RIA_HAS_GLOO

namespace {

#if TORCH_VERSION_MAJOR >= 2
using Backend = c10d::Backend;
#else
using Backend = c10d::ProcessGroup;
#endif

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// Of the first worker.
Addresses resolved(const TrainWorkers& workers, int type) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  const std::string port = std::to_string(workers.port);
  if (const int problem = ::getaddrinfo(workers.address.c_str(), port.c_str(), &hints, &found)) {
    throw std::runtime_error(fmt::format(
        "MASTER_ADDR {} cannot be resolved: {}", workers.address, ::gai_strerror(problem)));
  }
  return {found, ::freeaddrinfo};
}

std::runtime_error not_there(int rank, const TrainWorkers& workers) {
  return std::runtime_error(
      fmt::format("rank {} was not there within {} s", rank, workers.timeout_seconds));
}

/// Until the first worker listens: LibTorch would write to standard error that it does not.
void wait_for_first(const TrainWorkers& workers, Clock::time_point end) {
  const Addresses all = resolved(workers, SOCK_STREAM);
  while (Clock::now() < end) {
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
      const int socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (socket < 0) continue;
      const timeval a_second{1, 0};  // a machine that does not answer must not hold it up
      ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &a_second, sizeof a_second);
      const bool listens = ::connect(socket, one->ai_addr, one->ai_addrlen) == 0;
      ::close(socket);
      if (listens) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw not_there(0, workers);
}

/// The address of this machine that reaches the first worker; a name of the machine that nobody
/// can resolve does no harm then. Nothing is sent.
std::string own_address(const TrainWorkers& workers) {
  const Addresses all = resolved(workers, SOCK_DGRAM);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[NI_MAXHOST];
    const bool known = ::connect(socket, one->ai_addr, one->ai_addrlen) == 0 &&
                       ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                       ::getnameinfo(reinterpret_cast<sockaddr*>(&own),
                                     size,
                                     text,
                                     sizeof text,
                                     nullptr,
                                     0,
                                     NI_NUMERICHOST) == 0;
    ::close(socket);
    if (known) return text;
  }
  throw std::runtime_error(
      fmt::format("MASTER_ADDR {} cannot be reached from this machine", workers.address));
}

class C10dGroup final : public WorkerGroup {
 public:
  C10dGroup(const TrainWorkers& workers, const at::Device& device)
      : workers_(workers), device_(device) {
    const std::chrono::milliseconds timeout = std::chrono::seconds(workers.timeout_seconds);
    const std::string own = own_address(workers);
    guarded("joining", [&] {
      const auto end = Clock::now() + timeout;
      if (workers.rank != 0) wait_for_first(workers, end);
      c10d::TCPStoreOptions options;
      options.port = static_cast<std::uint16_t>(workers.port);
      options.isServer = workers.rank == 0;
      options.waitWorkers = false;
      options.timeout = timeout;
      store_ = c10::make_intrusive<c10d::TCPStore>(workers.address, options);
      wait_for_all(end);
      group_ = make_group(own, timeout);
    });
  }

  ~C10dGroup() override {
    if (!lost_) return;
    // Destructors would wait for threads that wait for who is gone.
    group_.release();
    store_.release();
  }

  void sum(Tensor& tensor) override {
    guarded("summing gradients", [&] {
      std::vector<Tensor> tensors{tensor};
      group_->allreduce(tensors)->wait();
    });
  }

  std::vector<Tensor> gather_rows(const Tensor& rows) override {
    std::vector<Tensor> out;
    guarded("gathering rows", [&] {
      const Tensor count = at::tensor(std::vector<std::int64_t>{rows.size(0)}).to(device_);
      const std::vector<Tensor> counts = gather(count);
      std::int64_t most = 0;
      for (const Tensor& one : counts) most = std::max(most, one.item<std::int64_t>());
      std::vector<std::int64_t> shape = rows.sizes().vec();
      shape[0] = most;
      if (c10::multiply_integers(shape) == 0) {
        // Nothing to send, and Gloo divides by its length.
        for (const Tensor& one : counts) {
          shape[0] = one.item<std::int64_t>();
          out.push_back(at::zeros(shape, rows.options()));
        }
        return;
      }
      Tensor padded = at::zeros(shape, rows.options().device(device_));
      padded.narrow(0, 0, rows.size(0)).copy_(rows.detach());
      out = gather(padded);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = out[i].narrow(0, 0, counts[i].item<std::int64_t>()).to(rows.device());
      }
    });
    return out;
  }

 private:
  c10::intrusive_ptr<Backend> make_group(const std::string& own,
                                         std::chrono::milliseconds timeout) {
#if defined(USE_C10D_NCCL)
    if (device_.is_cuda()) {
      // A lost worker must end a wait instead of the process.
      ::setenv("NCCL_BLOCKING_WAIT", "1", 1);
      ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 1);
      auto options = c10d::ProcessGroupNCCL::Options::create();
      options->timeout = timeout;
      return c10::make_intrusive<c10d::ProcessGroupNCCL>(
          store_, workers_.rank, workers_.count, options);
    }
#endif
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own));
    options->threads = 1;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(
        store_, workers_.rank, workers_.count, options);
  }

  /// The store and the group would wait too, one after the other, and neither says for whom.
  void wait_for_all(Clock::time_point end) {
    using std::chrono::milliseconds;
    const auto key = [](int rank) { return fmt::format("ria joined {}", rank); };
    store_->set(key(workers_.rank), std::vector<std::uint8_t>{1});
    for (int rank = 0; rank < workers_.count; ++rank) {
      const auto left = end - Clock::now();
      try {
        store_->wait({key(rank)},
                     std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds(1)));
      } catch (const std::exception&) {
        if (Clock::now() < end) throw;
        throw not_there(rank, workers_);
      }
    }
  }

  std::vector<Tensor> gather(const Tensor& own) {
    std::vector<std::vector<Tensor>> all(1);
    for (int i = 0; i < workers_.count; ++i) all[0].push_back(at::empty_like(own));
    std::vector<Tensor> input{own};
    group_->allgather(all, input)->wait();
    return all[0];
  }

  template <typename Do>
  void guarded(const char* what, Do run) {
    if (lost_)
      throw std::runtime_error("a worker was lost before: nothing can be exchanged any more");
    try {
      run();
    } catch (const std::exception& problem) {
      lost_ = true;
      // Of two it is the other one; of more nobody says which.
      const std::string who = workers_.count == 2 ? fmt::format("worker {} of 2", 1 - workers_.rank)
                                                  : fmt::format("a worker of {}", workers_.count);
      throw std::runtime_error(fmt::format("{} was lost: {}: {}", who, what, one_line(problem)));
    }
  }

  TrainWorkers workers_;
  at::Device device_;
  bool lost_ = false;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<Backend> group_;
};

}  // namespace

std::unique_ptr<WorkerGroup> WorkerGroup::join(const TrainWorkers& workers,
                                               const at::Device& device) {
#if !defined(USE_C10D_NCCL)
  if (device.is_cuda()) {
    throw std::invalid_argument("this LibTorch has no NCCL: one worker only on device cuda");
  }
#endif
  return std::make_unique<C10dGroup>(workers, device);
}

std::string worker_backend(bool cuda) {
#if defined(USE_C10D_NCCL)
  if (cuda) return "NCCL";
#endif
  static_cast<void>(cuda);
  return "Gloo";
}

#else

std::unique_ptr<WorkerGroup> WorkerGroup::join(const TrainWorkers&, const at::Device&) {
  throw std::invalid_argument(
      "ria was built without Gloo (apt-get install libgloo-dev, then build again): one worker "
      "only");
}

std::string worker_backend(bool) { return "one worker"; }

#endif

}  // namespace ria
