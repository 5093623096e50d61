// SPDX-License-Identifier: MIT
#include "serve/pictures.h"

#include <fmt/format.h>

#include "image/codec.h"
#include "util/files.h"
#include "util/hash.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr int kLongestSide = 480;  // pixels: large enough to draw on

std::string text_of(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Pictures::Pictures(const fs::path& map_file, fs::path originals)
    : folder_(map_file.string() + ".pictures") {
  if (!originals.empty()) originals_ = fs::canonical(originals);
}

/// With the name in it: a map that was made anew gives the same numbers to other places.
fs::path Pictures::kept(int place, const std::string& name) const {
  return folder_ / fmt::format("{}-{}.jpg", place, sha256_text(name).substr(0, 12));
}

std::optional<fs::path> Pictures::original(const std::string& name) const {
  if (originals_.empty() || name.empty() || name.find('\0') != name.npos) return std::nullopt;
  std::error_code error;
  const fs::path file = fs::canonical(originals_ / name, error);
  if (error || !fs::is_regular_file(file, error)) return std::nullopt;
  const fs::path below = file.lexically_relative(originals_);
  if (below.empty() || *below.begin() == "..") return std::nullopt;
  return file;
}

void Pictures::keep(int place, const std::string& name, const Image& picture) const {
  std::error_code ignored;  // writing says it better
  fs::create_directory(folder_, ignored);
  AtomicFile file(kept(place, name));
  file.write(encode_jpeg(picture, kLongestSide));
  file.commit();
}

void Pictures::forget(int place, const std::string& name) const {
  std::error_code ignored;  // there need not be one
  fs::remove(kept(place, name), ignored);
}

bool Pictures::has(int place, const std::string& name) const {
  std::error_code ignored;
  return fs::exists(kept(place, name), ignored) || original(name);
}

std::optional<std::string> Pictures::find(int place,
                                          const std::string& name,
                                          std::uint64_t max_pixels) const {
  std::error_code ignored;
  const fs::path file = kept(place, name);
  if (fs::exists(file, ignored)) return read_text(file);
  const std::optional<fs::path> large = original(name);
  if (!large) return std::nullopt;
  const Image image = decode_image_within(max_pixels, read_bytes(*large), name);
  return text_of(encode_jpeg(image, kLongestSide));
}

}  // namespace ria
