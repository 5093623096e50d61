// SPDX-License-Identifier: MIT
#include "mixed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "made_places.h"
#include "ria/dataset.h"
#include "ria/optimise.h"
#include "ria/recognizer.h"

namespace ria::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kTogether = 8192;

/// A ground truth whose pictures are known by their place in one list without repetitions.
struct Task {
  std::string name;
  std::vector<int> database, queries;
  std::vector<std::vector<int>> right;  ///< places, of each query
};

class Pictures {
 public:
  int number(const fs::path& picture) {
    const auto [at, added] = numbers_.emplace(fs::weakly_canonical(picture), all.size());
    if (added) all.push_back(picture);
    return static_cast<int>(at->second);
  }
  /// -1: it is not there.
  int find(const fs::path& picture) const {
    const auto found = numbers_.find(fs::weakly_canonical(picture));
    return found == numbers_.end() ? -1 : static_cast<int>(found->second);
  }
  std::vector<fs::path> all;

 private:
  std::map<fs::path, std::size_t> numbers_;
};

std::vector<Task> read_tasks(const std::vector<fs::path>& files,
                             Pictures& places,
                             Pictures& queries) {
  std::vector<Task> tasks;
  for (const fs::path& file : files) {
    const Dataset set = load_ground_truth(file);
    Task task;
    task.name = file.parent_path().filename().string() + "_" + file.stem().string();
    for (const fs::path& picture : set.database) task.database.push_back(places.number(picture));
    for (std::size_t q = 0; q < set.queries.size(); ++q) {
      task.queries.push_back(queries.number(set.queries[q]));
      task.right.emplace_back();
      for (const int place : set.positives[q]) task.right.back().push_back(task.database[place]);
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void build(const fs::path& file, const Matrix& real, const MadePlaces& made, int places) {
  const MapHeader header{"made-up", "{}", "", "", made.dim()};
  Map::build(file, header, Storage::kInt8, [&](Map& map) {
    map.add(real, std::vector<Place>(static_cast<std::size_t>(real.rows())));
    for (int first = 0; first < places; first += kTogether) {
      const int count = std::min(kTogether, places - first);
      map.add(made.places(first, count), std::vector<Place>(static_cast<std::size_t>(count)));
    }
  });
}

Matrix rows_of(const Matrix& all, const std::vector<int>& numbers) {
  Matrix rows(static_cast<int>(numbers.size()), all.cols());
  for (int i = 0; i < rows.rows(); ++i) {
    std::ranges::copy(all.row(numbers[i]), rows.row(i).begin());
  }
  return rows;
}

/// Percent of the queries whose best answer is right. A picture that one set asks for may be a
/// place of another set: it is no answer to itself.
double recall(const Task& task,
              const std::vector<std::vector<Match>>& answers,
              const std::vector<int>& itself) {
  int right = 0;
  for (std::size_t q = 0; q < task.queries.size(); ++q) {
    const auto query = static_cast<std::size_t>(task.queries[q]);
    const bool first = answers[query].at(0).place == itself[query];
    const int best = answers[query].at(first ? 1 : 0).place;
    right += std::ranges::find(task.right[q], best) != task.right[q].end();
  }
  return 100.0 * right / static_cast<double>(task.queries.size());
}

}  // namespace

void mixed(const std::vector<fs::path>& ground_truths, int places, const Put& put) {
  Pictures known, asked;
  const std::vector<Task> tasks = read_tasks(ground_truths, known, asked);
  const Recognizer recognizer("resnet50-ria");
  const Matrix real = recognizer.describe(known.all).descriptors;
  const Matrix queries = recognizer.describe(asked.all).descriptors;
  double contrast = 0;
  for (const Task& task : tasks) {
    const Contrast own =
        contrast_of(rows_of(real, task.database), rows_of(queries, task.queries), {});
    put("contrast_" + task.name + "_nearest_over_mean", own.nearest_over_mean);
    contrast += own.nearest_over_mean / static_cast<double>(tasks.size());
  }
  put("contrast_real_nearest_over_mean", contrast);
  const fs::path file = fs::temp_directory_path() / fmt::format("ria_mixed_{}.ria", ::getpid());
  build(file, real, MadePlaces(), places);
  std::vector<int> itself;
  for (const fs::path& picture : asked.all) itself.push_back(known.find(picture));
  const auto exact = Map::open(file).search(queries, 2);
  const SearchInfo info = optimise_map(file);
  const auto found = Map::open(file).search(queries, 2);
  double lost = 0;
  for (const Task& task : tasks) {
    const double before = recall(task, exact, itself), after = recall(task, found, itself);
    put("mixed_" + task.name + "_exact_r1", before);
    put("mixed_" + task.name + "_" + info.kind + "_r1", after);
    lost += (before - after) / static_cast<double>(tasks.size());
  }
  put("mixed_r1_lost_by_auto", lost);
  fs::remove(file);
  fs::remove(file.string() + ".search");
}

}  // namespace ria::bench
