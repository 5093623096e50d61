// SPDX-License-Identifier: MIT
// Hashes of weight files, kept between runs: reading gigabytes at every start only to learn that
// nothing changed takes seconds.
#include "fetch/hashes.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "archive/bytes.h"
#include "archive/onnx_files.h"
#include "ria/weights.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/json.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

/// What tells one state of a file from the next.
struct Stamp {
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const Stamp&) const = default;
};

std::optional<Stamp> stamp_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return Stamp{found.st_size,
               found.st_mtim.tv_sec * kNanoseconds + found.st_mtim.tv_nsec,
               static_cast<std::uint64_t>(found.st_ino)};
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// hashes.json. What cannot be read or written only costs time.
class KeptHashes {
 public:
  KeptHashes() : file_(cache_folder() / "hashes.json") {
    std::error_code error;
    if (!fs::is_regular_file(file_, error)) return;
    json found = json::parse(read_text(file_), nullptr, false);
    if (found.is_object()) entries_ = std::move(found);
  }

  std::string find(const std::string& path, const Stamp& stamp) const {
    const auto entry = entries_.find(path);
    if (entry == entries_.end() || !entry->is_object()) return "";
    const auto number = [&](const char* key) {
      const auto value = entry->find(key);
      return value != entry->end() && value->is_number_integer() ? value->get<std::int64_t>() : -1;
    };
    const bool same = number("size") == stamp.size && number("mtime_ns") == stamp.mtime_ns &&
                      number("inode") == static_cast<std::int64_t>(stamp.inode);
    const auto hash = entry->find("sha256");
    const bool whole = hash != entry->end() && hash->is_string() &&
                       hash->get_ref<const std::string&>().size() == 64;
    return same && whole ? hash->get<std::string>() : "";
  }

  void keep(const std::string& path, const Stamp& stamp, const std::string& sha256) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      std::error_code error;
      entry = fs::exists(entry.key(), error) ? std::next(entry) : entries_.erase(entry);
    }
    entries_[path] = {{"size", stamp.size},
                      {"mtime_ns", stamp.mtime_ns},
                      {"inode", static_cast<std::int64_t>(stamp.inode)},
                      {"sha256", sha256}};
    fs::create_directories(file_.parent_path());
    write_text(file_, json_text(entries_, 1) + "\n");
  }

 private:
  fs::path file_;
  json entries_ = json::object();
};

std::string hash_of_one(const fs::path& file) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  const std::optional<Stamp> before = error ? std::nullopt : stamp_of(path);
  if (!before) return sha256_file(file);
  std::string found;
  try {
    found = KeptHashes().find(path.string(), *before);
  } catch (const std::exception&) {
  }
  if (!found.empty()) return found;
  const std::int64_t start = now_ns();
  const std::string sha256 = sha256_file(path);
  // A file written a moment ago may be written again within the same tick of its clock (two seconds
  // on FAT) and look unchanged: its hash is not worth keeping yet.
  const bool settled = start - before->mtime_ns >= 2 * kNanoseconds;
  if (!settled || stamp_of(path) != before) return sha256;
  try {
    KeptHashes().keep(path.string(), *before, sha256);
  } catch (const std::exception&) {
  }
  return sha256;
}

/// Names of shards in a JSON index: of tfjs in its order, of Hugging Face sorted.
std::vector<std::string> shard_names(const fs::path& file, const json& index) {
  std::vector<std::string> names;
  const auto add = [&](const json& name) {
    if (!name.is_string()) throw read_error(file, "a shard name is not a string");
    names.push_back(name.get<std::string>());
  };
  if (const auto map = index.find("weight_map"); map != index.end() && map->is_object()) {
    for (const auto& [tensor, shard] : map->items()) add(shard);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  if (const auto groups = index.find("weightsManifest");
      groups != index.end() && groups->is_array()) {
    for (const json& group : *groups) {
      if (!group.is_object() || !group.contains("paths") || !group["paths"].is_array()) continue;
      for (const json& name : group["paths"]) add(name);
    }
  }
  return names;
}

/// The file and those that it names, which stand beside it.
std::vector<fs::path> with_shards(const fs::path& file, const std::vector<std::string>& names) {
  std::vector<fs::path> files{file};
  for (const fs::path shard : names) {
    const bool escapes = std::find(shard.begin(), shard.end(), "..") != shard.end();
    if (shard.empty() || shard.is_absolute() || escapes) {
      throw read_error(file,
                       fmt::format("shard {} lies outside its folder", printable(shard.string())));
    }
    files.push_back(file.parent_path() / shard);
  }
  return files;
}

std::vector<fs::path> index_and_shards(const fs::path& file) {
  const json index = json::parse(read_text(file), nullptr, false);
  return with_shards(file,
                     index.is_object() ? shard_names(file, index) : std::vector<std::string>());
}

std::vector<fs::path> files_of_folder(const fs::path& folder) {
  for (const char* index : {"model.safetensors.index.json", "pytorch_model.bin.index.json"}) {
    if (fs::exists(folder / index)) return index_and_shards(folder / index);
  }
  for (const char* whole : {"model.safetensors", "pytorch_model.bin"}) {
    if (fs::exists(folder / whole)) return {folder / whole};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (files.empty()) throw read_error(folder, "it is a folder without files");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<fs::path> weights_files(const fs::path& path) {
  if (fs::is_directory(path)) return files_of_folder(path);
  if (path.extension() == ".json" && fs::is_regular_file(path)) return index_and_shards(path);
  if (path.extension() == ".onnx" && fs::is_regular_file(path)) {
    return with_shards(path, onnx_external_files(MappedFile::open(path)->bytes()));
  }
  return {path};
}

std::string hash_weights(const fs::path& path,
                         const std::function<std::string(const fs::path&)>& hash_one) {
  const std::vector<fs::path> files = weights_files(path);
  if (files.size() == 1) return hash_one(files.front());
  std::string hashes;
  for (const fs::path& file : files) hashes += hash_one(file);
  return sha256_text(hashes);
}

std::string file_sha256(const fs::path& path) { return hash_weights(path, hash_of_one); }

}  // namespace ria
