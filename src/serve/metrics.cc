// SPDX-License-Identifier: MIT
#include "serve/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace ria {

namespace {

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double pages = 0, resident = 0;
  in >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void Metrics::record(const std::string& operation, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{operation, status}];
  Times& times = times_[operation];
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds[i]) ++times.up_to[i];
  }
  ++times.count;
  times.sum += seconds;
}

std::string Metrics::text(const std::map<std::string, double>& gauges) const {
  std::string out;
  const auto to = std::back_inserter(out);
  const std::lock_guard lock(mutex_);
  fmt::format_to(to, "# TYPE ria_requests_total counter\n");
  for (const auto& [key, count] : requests_) {
    fmt::format_to(to,
                   "ria_requests_total{{operation=\"{}\",status=\"{}\"}} {}\n",
                   key.first,
                   key.second,
                   count);
  }
  fmt::format_to(to, "# TYPE ria_request_seconds histogram\n");
  for (const auto& [operation, times] : times_) {
    const auto line = [&to, &operation = operation](const std::string& bound, std::uint64_t count) {
      fmt::format_to(to,
                     "ria_request_seconds_bucket{{operation=\"{}\",le=\"{}\"}} {}\n",
                     operation,
                     bound,
                     count);
    };
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      line(fmt::format("{}", kBounds[i]), times.up_to[i]);
    }
    line("+Inf", times.count);
    fmt::format_to(
        to, "ria_request_seconds_sum{{operation=\"{}\"}} {:.6f}\n", operation, times.sum);
    fmt::format_to(
        to, "ria_request_seconds_count{{operation=\"{}\"}} {}\n", operation, times.count);
  }
  const auto gauge = [&](const std::string& name, double value) {
    fmt::format_to(to, "# TYPE {} gauge\n{} {}\n", name, name, value);
  };
  for (const auto& [name, value] : gauges) gauge(name, value);
  gauge("process_resident_memory_bytes", resident_bytes());
  return out;
}

}  // namespace ria
