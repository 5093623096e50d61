// SPDX-License-Identifier: MIT
// The two drives as folders of pictures.
#include "ria/simulate.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "ria/version.h"
#include "simulate/drive.h"
#include "util/files.h"
#include "util/nearest_name.h"
#include "util/parallel.h"
#include "util/temporary.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 4> kConditionNames = {"day", "night", "rain", "season"};
constexpr const char* kRecord = "simulate.json";

void check(bool ok, const char* field, double value, const char* wanted) {
  if (!ok) throw std::invalid_argument(fmt::format("{} is {}, must be {}", field, value, wanted));
}

/// A folder that takes the place of another one when all of it is there.
class ReplacedFolder {
 public:
  explicit ReplacedFolder(fs::path target) : target_(std::move(target)) {
    std::string pattern =
        target_.parent_path() / fmt::format(".{}.XXXXXX", target_.filename().string());
    const auto held = hold_temporaries();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error(fmt::format(
          "cannot create a folder beside {}: {}", target_.string(), std::strerror(errno)));
    scratch_.emplace(pattern);
    fresh_ = scratch_->path() / "new";
    fs::create_directory(fresh_);
  }
  /// Puts the old folder back if it was swapped but not kept.
  ~ReplacedFolder() {
    std::error_code ignored;
    if (!swapped_ || kept_) return;
    fs::rename(target_, fresh_, ignored);
    if (fs::exists(old(), ignored)) fs::rename(old(), target_, ignored);
  }
  ReplacedFolder(const ReplacedFolder&) = delete;
  ReplacedFolder& operator=(const ReplacedFolder&) = delete;

  const fs::path& fresh() const { return fresh_; }
  void swap() {
    const bool replaces = fs::exists(target_);
    if (replaces) fs::rename(target_, old());
    try {
      fs::rename(fresh_, target_);
    } catch (...) {
      if (replaces) fs::rename(old(), target_);
      throw;
    }
    swapped_ = true;
  }
  void keep() { kept_ = true; }

 private:
  fs::path old() const { return scratch_->path() / "old"; }

  fs::path target_, fresh_;
  std::optional<Temporary> scratch_;
  bool swapped_ = false, kept_ = false;
};

void refuse_foreign(const fs::path& folder, const fs::path& target) {
  if (!fs::exists(target)) return;
  if (!fs::is_directory(target))
    throw std::runtime_error(target.string() + " is a file, a folder was expected");
  if (!fs::is_empty(target) && !fs::exists(folder / kRecord))
    throw std::runtime_error(fmt::format(
        "{} is not empty and has no {} beside it: it was not made by simulate and is not replaced",
        target.string(),
        kRecord));
}

std::string record(const SimulateOptions& o) {
  const nlohmann::ordered_json json = {{"version", RIA_VERSION},
                                       {"seed", o.seed},
                                       {"places", o.places},
                                       {"spacing", o.spacing},
                                       {"lateral_offset", o.lateral_offset},
                                       {"heading_offset", o.heading_offset},
                                       {"database_condition", to_string(o.database_condition)},
                                       {"query_condition", to_string(o.query_condition)},
                                       {"height", o.height},
                                       {"width", o.width}};
  return json.dump(2) + "\n";
}

void draw(int i, const SimulateOptions& o, const fs::path& database, const fs::path& queries) {
  const bool query = i >= o.places;
  const int place = query ? i - o.places : i;
  const CameraPose pose = query ? sim::query_pose(place, o) : sim::database_pose(place, o);
  const Condition condition = query ? o.query_condition : o.database_condition;
  save_image((query ? queries : database) / sim::picture_name(pose, place, condition),
             render_street(pose, condition, o.height, o.width, o.seed));
}

}  // namespace

std::string to_string(Condition condition) {
  return std::string(kConditionNames.at(static_cast<std::size_t>(condition)));
}

Condition parse_condition(const std::string& name) {
  for (std::size_t i = 0; i < kConditionNames.size(); ++i)
    if (name == kConditionNames[i]) return static_cast<Condition>(i);
  throw std::invalid_argument(
      unknown_name("condition", name, {kConditionNames.begin(), kConditionNames.end()}));
}

void SimulateOptions::validate() const {
  check(places >= 1 && places <= 1000000, "places", places, "1 to 1000000");
  // A query slips up to 2 m along the street: closer places could not be told apart.
  check(spacing >= 1 && spacing <= 1000, "spacing", spacing, "1 to 1000 m");
  check(lateral_offset >= -1.5 && lateral_offset <= 5,
        "lateral_offset",
        lateral_offset,
        "-1.5 to 5 m, which is on the road");
  check(heading_offset >= 0 && heading_offset <= 180,
        "heading_offset",
        heading_offset,
        "0 to 180 degrees");
  check(height >= 16 && height <= 8192, "height", height, "16 to 8192 pixels");
  check(width >= 16 && width <= 8192, "width", width, "16 to 8192 pixels");
  check(num_threads >= 0, "num_threads", num_threads, "0 (all cores) or more");
}

SimulatedFolders simulate(const fs::path& folder, const SimulateOptions& options) {
  options.validate();
  const SimulatedFolders result{folder / "database", folder / "queries"};
  if (folder.string().find('@') != std::string::npos)
    throw std::runtime_error(folder.string() +
                             " holds an @: readers of @-names split the whole path on it");
  refuse_foreign(folder, result.database);
  refuse_foreign(folder, result.queries);

  MadeFolders made(folder);
  ReplacedFolder database(result.database), queries(result.queries);
  const int total = 2 * options.places;
  int done = 0;
  std::mutex mutex;
  const auto body = [&](int i) {
    draw(i, options, database.fresh(), queries.fresh());
    const std::lock_guard lock(mutex);
    ++done;
    if (options.progress) options.progress(done, total);
  };
  parallel_for(total, options.num_threads, body, options.stop);
  if (done < total) throw Interrupted(done, total);

  const auto held = hold_temporaries();  // both drives and their record
  database.swap();
  queries.swap();
  write_text(folder / kRecord, record(options));
  database.keep();
  queries.keep();
  made.keep();
  return result;
}

}  // namespace ria
