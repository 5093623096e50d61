// SPDX-License-Identifier: MIT
// From a published address to the cache.
#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <functional>

#include "archive/bytes.h"
#include "fetch/cache.h"
#include "fetch/download.h"
#include "fetch/sources.h"
#include "ria/weights.h"
#include "util/hash.h"
#include "util/nearest_name.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

std::string address_of(const std::string& name, const DownloadOptions& options) {
  if (!options.url.empty()) return options.url;
  const WeightSource* source = find_source(name);
  if (source == nullptr) {
    throw std::invalid_argument(unknown_name("weights", name, known_weights(), "ria weights list") +
                                "; others need a url");
  }
  if (!source->url.empty()) return source->url;
  throw std::runtime_error(
      fmt::format("weights {} cannot be downloaded directly: they are published on {}; add them "
                  "with: {}",
                  name,
                  source->source,
                  source->how_to_add));
}

/// The last part of the address, in letters any file system takes.
std::string file_name_of(const std::string& url) {
  std::string path = url.substr(0, url.find_first_of("?#"));
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (!plain) c = '-';
  }
  name = name.substr(0, 100);
  return name.empty() || name[0] == '.' ? "weights" + name : name;
}

bool is_web_page(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  char first = 0;
  in >> first;  // skips white space
  return first == '<';
}

/// The folder of one download. It goes at the end unless it holds the beginning of a file.
class DownloadFolder {
 public:
  explicit DownloadFolder(const std::string& name) : folder_(cache_folder() / "downloads" / name) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      throw std::runtime_error(
          fmt::format("cannot create {}: {}", folder_.string(), error.message()));
    }
  }
  ~DownloadFolder() {
    std::error_code ignored;
    if (!whole_.empty()) fs::remove_all(whole_.parent_path(), ignored);
    fs::remove(folder_, ignored);  // fails if it is not empty
    fs::remove(folder_.parent_path(), ignored);
  }
  DownloadFolder(const DownloadFolder&) = delete;
  DownloadFolder& operator=(const DownloadFolder&) = delete;

  /// The file of this address: the one of a call that was ended before it could import it, or the
  /// one that fetch(target) brings now.
  fs::path file(const std::string& url, const std::function<void(const fs::path&)>& fetch) {
    const fs::path target = folder_ / file_name_of(url);
    const fs::path whole =
        folder_ / ("whole-" + sha256_text(url).substr(0, 16)) / target.filename();
    if (!fs::exists(whole)) {
      fetch(target);
      fs::create_directories(whole.parent_path());
      fs::rename(target, whole);
    }
    return whole_ = whole;
  }

 private:
  fs::path folder_;
  fs::path whole_;
};

fs::path import_download(const fs::path& file, const std::string& name, const std::string& url) {
  if (is_web_page(file)) {
    throw std::runtime_error(
        fmt::format("{} sent a web page, a weight file was expected; open it in a browser, then: "
                    "ria weights add FILE --name {}",
                    url,
                    name));
  }
  try {
    return import_weights(file, name, url);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", url, error.what()));
  }
}

}  // namespace

DownloadInterrupted::~DownloadInterrupted() = default;

fs::path get_weights(const std::string& name, const DownloadOptions& asked) {
  check_weights_name(name);
  asked.validate();
  const std::string url = address_of(name, asked);
  DownloadOptions options = asked;
  const WeightSource* source = find_source(name);
  if (options.sha256.empty() && source != nullptr) options.sha256 = source->published_sha256;
  if (!asked.keep.empty()) {
    download_file(url, asked.keep, options);
    return import_download(asked.keep, name, url);
  }
  DownloadFolder folder(name);
  const fs::path file =
      folder.file(url, [&](const fs::path& target) { download_file(url, target, options); });
  return import_download(file, name, url);
}

}  // namespace ria
