// SPDX-License-Identifier: MIT
// From a name and a folder to a dataset: which form it has there, whether it is whole.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "dataset/forms.h"
#include "dataset/loading.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// "a, b", each once, without the empty one.
std::string names_of(const std::vector<DatasetPart>& parts, std::string DatasetPart::*field) {
  std::vector<std::string> names;
  for (const DatasetPart& part : parts) {
    const std::string& name = part.*field;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string title_of(const Loading& loading) {
  std::string name = loading.info.name;
  const DatasetPart& first = loading.info.parts.front();
  for (const auto& [chosen, usual] : {std::pair{&loading.options.split, &first.split},
                                      std::pair{&loading.options.query_set, &first.query_set}}) {
    if (*chosen != *usual && !chosen->empty()) name += "/" + *chosen;
  }
  return name;
}

/// The published sizes, if the set has some and none of them is this copy's.
void check_counts(Loading& loading) {
  const int places = static_cast<int>(loading.dataset.database.size());
  const int queries = static_cast<int>(loading.dataset.queries.size());
  std::vector<std::string> expected;
  for (const DatasetPart& part : loading.info.parts) {
    if (part.split != loading.options.split || part.query_set != loading.options.query_set) {
      continue;
    }
    const bool fits = (part.database == 0 || part.database == places) &&
                      (part.queries == 0 || part.queries == queries);
    if (fits) return;
    expected.push_back(fmt::format("{} and {}",
                                   part.database > 0 ? std::to_string(part.database) : "any",
                                   part.queries > 0 ? std::to_string(part.queries) : "any"));
  }
  if (expected.empty()) return;
  loading.problems.push_back(fmt::format(
      "{} places and {} queries, {} were expected", places, queries, fmt::join(expected, " or ")));
}

void check_positives(Loading& loading) {
  const auto& positives = loading.dataset.positives;
  const auto none = std::count_if(
      positives.begin(), positives.end(), [](const auto& list) { return list.empty(); });
  if (none == 0) return;
  const bool all = none == static_cast<std::ptrdiff_t>(positives.size());
  (all ? loading.problems : loading.notes)
      .push_back(fmt::format(
          "{} of {} queries have no right place; they count as missed", none, positives.size()));
}

void check_options_used(const Loading& loading) {
  const DatasetOptions& options = loading.options;
  for (const auto& [name, given, used] :
       {std::tuple{
            "positive_dist_threshold", options.positive_dist_threshold > 0, loading.used_radius},
        std::tuple{"frame_tolerance", options.frame_tolerance.has_value(), loading.used_tolerance},
        std::tuple{"max_angle", options.max_angle > 0, loading.used_angle}}) {
    if (given && !used) {
      throw std::invalid_argument(fmt::format(
          "{} has no meaning for {} ({})", name, loading.info.name, loading.info.positives));
    }
  }
}

}  // namespace

double Loading::radius(double published) {
  used_radius = true;
  return options.positive_dist_threshold > 0 ? options.positive_dist_threshold : published;
}

std::optional<int> Loading::tolerance() {
  used_tolerance = true;
  return options.frame_tolerance;
}

double Loading::angle() {
  used_angle = true;
  return options.max_angle;
}

std::string Loading::fill(std::string text) const {
  if (options.split.empty()) replace_all(text, "_{split}", "");
  replace_all(text, "{split}", options.split);
  replace_all(text, "{query_set}", options.query_set);
  return text;
}

std::vector<std::string> not_there(const Loading& loading, const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  std::error_code ignored;
  for (const std::string& name : names) {
    const std::string filled = loading.fill(name);
    if (!fs::exists(loading.folder / filled, ignored)) missing.push_back(filled);
  }
  return missing;
}

fs::path find_file(const Loading& loading,
                   const std::vector<std::string>& folders,
                   const std::string& name) {
  std::error_code ignored;
  for (const std::string& folder : folders) {
    const fs::path file = loading.folder / folder / name;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return {};
}

std::vector<fs::path> files_ending(const Loading& loading,
                                   const std::vector<std::string>& folders,
                                   const std::string& ending) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(loading.folder / folder, ignored)) {
      if (entry.is_regular_file(ignored) && entry.path().filename().string().ends_with(ending)) {
        found.push_back(entry.path());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void DatasetOptions::validate() const {
  if (!(positive_dist_threshold >= 0)) {
    throw std::invalid_argument(fmt::format(
        "positive_dist_threshold is {}, metres from 0 up were expected", positive_dist_threshold));
  }
  if (frame_tolerance && *frame_tolerance < 0) {
    throw std::invalid_argument(
        fmt::format("frame_tolerance is {}, frames from 0 up were expected", *frame_tolerance));
  }
  if (!(max_angle >= 0)) {
    throw std::invalid_argument(
        fmt::format("max_angle is {}, degrees from 0 up were expected", max_angle));
  }
}

DatasetOptions settle_options(const DatasetInfo& info, DatasetOptions options) {
  options.validate();
  const auto fits = [](const std::string& wanted, const std::string& name) {
    return wanted.empty() || wanted == name;
  };
  for (const DatasetPart& part : info.parts) {
    if (fits(options.split, part.split) && fits(options.query_set, part.query_set)) {
      options.split = part.split;
      options.query_set = part.query_set;
      return options;
    }
  }
  // The general forms hold whatever their folders hold.
  if (info.folders.empty()) return options;
  throw std::invalid_argument(
      fmt::format("{} has no split '{}' with query_set '{}' (splits: {}; query sets: {})",
                  info.name,
                  options.split,
                  options.query_set,
                  names_of(info.parts, &DatasetPart::split),
                  names_of(info.parts, &DatasetPart::query_set)));
}

FoundForm find_form(const DatasetEntry& entry,
                    const fs::path& data_folder,
                    const DatasetOptions& options) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const std::string& name : entry.info.folders) {
    if (fs::is_directory(data_folder / name, ignored)) folders.push_back(data_folder / name);
  }
  folders.push_back(data_folder);
  FoundForm best;
  for (const fs::path& folder : folders) {
    const Loading loading{.info = entry.info, .folder = folder, .options = options};
    for (const Form& form : entry.forms) {
      std::vector<std::string> missing = form.missing(loading);
      if (missing.empty()) return {folder, &form, {}};
      if (best.missing.empty() || missing.size() < best.missing.size()) {
        best = {folder, nullptr, std::move(missing)};
      }
    }
  }
  return best;
}

Loading load_form(const DatasetEntry& entry,
                  const FoundForm& found,
                  const DatasetOptions& options) {
  if (found.form == nullptr) {
    throw std::runtime_error(fmt::format("{} is not {}: missing {} (see 'ria datasets show {}')",
                                         found.folder.string(),
                                         entry.info.name,
                                         fmt::join(found.missing, ", "),
                                         entry.info.name));
  }
  Loading loading{.info = entry.info, .folder = found.folder, .options = options};
  found.form->load(loading);
  if (loading.dataset.database.empty() || loading.dataset.queries.empty()) {
    throw std::runtime_error(fmt::format("{}: no {} are left",
                                         found.folder.string(),
                                         loading.dataset.queries.empty() ? "queries" : "places"));
  }
  check_options_used(loading);
  check_counts(loading);
  check_positives(loading);
  if (loading.dataset.name.empty()) loading.dataset.name = title_of(loading);
  return loading;
}

Dataset load_dataset(const std::string& name,
                     const fs::path& data_folder,
                     const DatasetOptions& given) {
  const DatasetEntry& entry = find_entry(name);
  const DatasetOptions options = settle_options(entry.info, given);
  if (!fs::is_directory(data_folder)) {
    throw std::runtime_error(fmt::format("there is no folder {}", data_folder.string()));
  }
  Loading loading = load_form(entry, find_form(entry, data_folder, options), options);
  loading.dataset.remarks = std::move(loading.problems);
  for (std::string& note : loading.notes) loading.dataset.remarks.push_back(std::move(note));
  return std::move(loading.dataset);
}

}  // namespace ria
