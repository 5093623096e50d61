// SPDX-License-Identifier: MIT
#include "study/per_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "pipeline/journal.h"
#include "pipeline/over_pictures.h"

namespace ria {

PictureValues measure_pictures(const std::vector<std::filesystem::path>& pictures,
                               const std::string& what,
                               std::size_t count,
                               const RunOptions& run,
                               const std::function<std::vector<float>(int)>& measure) {
  const int total = static_cast<int>(pictures.size());
  std::vector<std::vector<float>> values(pictures.size());
  std::optional<Journal> journal;
  if (run.resume) {
    journal.emplace(run_fingerprint(what, pictures));
    journal->take(total, [&](Journal::Record&& record) {
      if (record.values.size() == count) values[record.picture] = std::move(record.values);
    });
  }
  PictureValues result;
  std::mutex mutex;
  int done = 0;
  over_pictures(
      total,
      run.num_threads,
      [&](int i) {
        std::string reason;
        try {
          if (values[i].empty()) {
            values[i] = measure(i);
            if (journal) journal->append({i, values[i]});
          }
        } catch (const std::bad_alloc&) {
          throw;
        } catch (const std::exception& error) {
          reason = error.what();
        }
        const std::lock_guard lock(mutex);
        if (!reason.empty()) result.failures.push_back({i, pictures[i].string(), reason});
        ++done;
        if (run.progress) run.progress(done, total);
      },
      run.stop);
  if (run.stop.stop_requested() && done < total) {
    if (journal) journal->flush();
    throw Interrupted(done, total);
  }
  if (journal) journal->remove();
  std::sort(result.failures.begin(), result.failures.end(), [](const Failure& a, const Failure& b) {
    return a.picture < b.picture;
  });
  if (std::ssize(result.failures) == total) {
    throw std::runtime_error(fmt::format("none of {} pictures could be measured; the first: {}",
                                         total,
                                         total == 0 ? "" : result.failures[0].reason));
  }
  std::erase_if(values, [](const auto& one) { return one.empty(); });
  result.values = std::move(values);
  return result;
}

}  // namespace ria
