// SPDX-License-Identifier: MIT
#include "loop/closing.h"
#include "ria/loop.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

/// Loops are verified by patches, whatever method is named.
MethodOptions with_patches() {
  MethodOptions options;
  options.rerank = "patches";
  return options;
}

}  // namespace

struct LoopCloser::Impl : Closing {
  using Closing::Closing;
};

LoopCloser::LoopCloser(Recognizer recognizer, Map map, const LoopOptions& options)
    : impl_(std::make_unique<Impl>(std::move(recognizer), std::move(map), options)) {}
LoopCloser::~LoopCloser() = default;
LoopCloser::LoopCloser(LoopCloser&&) noexcept = default;
LoopCloser& LoopCloser::operator=(LoopCloser&&) noexcept = default;

LoopCloser LoopCloser::open(const fs::path& file,
                            const std::string& method,
                            const LoopOptions& options) {
  options.validate();
  if (!file.empty() && Map::exists(file)) {
    Map map = Map::open(file, options.keep ? Access::kWrite : Access::kRead);
    Recognizer recognizer = method.empty() ? Recognizer(map) : Recognizer(method, with_patches());
    return LoopCloser(std::move(recognizer), std::move(map), options);
  }
  Recognizer recognizer(method.empty() ? default_loop_method() : method, with_patches());
  Map map = file.empty() ? Map(recognizer.header(), Storage::kHalf)
                         : Map::create(file, recognizer.header());
  map.set_fitted(recognizer.fitted());
  return LoopCloser(std::move(recognizer), std::move(map), options);
}

LoopResult LoopCloser::add(const fs::path& picture, const LoopFrame& frame) {
  Stopwatch watch;
  const DescribedPicture described =
      impl_->recognizer.describe_whole(load_image(picture, impl_->recognizer.preprocessing().load));
  const double described_ms = watch.milliseconds();
  LoopFrame named = frame;
  if (named.name.empty()) named.name = picture.string();
  LoopResult result = impl_->add(described, named);
  result.ms.describe = described_ms;
  return result;
}

LoopResult LoopCloser::add(const ImageView& picture, const LoopFrame& frame) {
  Stopwatch watch;
  const DescribedPicture described = impl_->recognizer.describe_whole(picture);
  const double described_ms = watch.milliseconds();
  LoopResult result = impl_->add(described, frame);
  result.ms.describe = described_ms;
  return result;
}

LoopResult LoopCloser::add(const DescribedPicture& picture, const LoopFrame& frame) {
  return impl_->add(picture, frame);
}

const Map& LoopCloser::map() const { return impl_->map; }
const Recognizer& LoopCloser::recognizer() const { return impl_->recognizer; }
const LoopOptions& LoopCloser::options() const { return impl_->options; }

}  // namespace ria
