// SPDX-License-Identifier: MIT
#include "report/thumbnails.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>

#include "report/markup.h"
#include "ria/image.h"
#include "util/parallel.h"

namespace ria {

namespace {

constexpr int kLongestSide = 240;  // pixels; sharp at the size shown, and about 10 kB

}  // namespace

Thumbnails::Thumbnails(std::vector<std::filesystem::path> files) {
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  thumbnails_.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) numbers_[files[i]] = static_cast<int>(i);
  parallel_for(static_cast<int>(files.size()), 0, [&](int i) {
    // A report about pictures that failed must not fail on them.
    try {
      const Image image = load_image(files[i]);
      thumbnails_[i] = {image.height, image.width, base64(encode_jpeg(image, kLongestSide))};
    } catch (const std::exception&) {
      thumbnails_[i] = {};
    }
  });
}

std::string Thumbnails::definitions() const {
  // Not display: none, which hides what <use> shows in some browsers.
  std::string out = "<svg width=\"0\" height=\"0\" class=\"store\" aria-hidden=\"true\"><defs>\n";
  for (std::size_t i = 0; i < thumbnails_.size(); ++i) {
    const Thumbnail& one = thumbnails_[i];
    if (one.height == 0) continue;
    fmt::format_to(std::back_inserter(out),
                   "<image id=\"p{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
                   "href=\"data:image/jpeg;base64,{}\"/>\n",
                   i,
                   one.width,
                   one.height,
                   one.jpeg);
  }
  return out + "</defs></svg>\n";
}

std::string Thumbnails::show(const std::filesystem::path& file,
                             const std::string& description) const {
  const int number = numbers_.at(file);
  const Thumbnail& one = thumbnails_[number];
  if (one.height == 0) {
    return fmt::format(
        "<div class=\"missing\" role=\"img\" aria-label=\"{}, cannot be read\">cannot be "
        "read</div>",
        escape_markup(description));
  }
  return fmt::format(
      "<svg class=\"picture\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">"
      "<use href=\"#p{}\"/></svg>",
      one.width,
      one.height,
      escape_markup(description),
      number);
}

}  // namespace ria
