// SPDX-License-Identifier: MIT
// What the service asks of a recogniser and of a loop closer, without networks: a picture's
// descriptor is made of its width. Requests are what is fuzzed here.
#include <cmath>
#include <cstring>

#include "pipeline/maker.h"
#include "pipeline/search.h"
#include "ria/backbone.h"
#include "ria/loop.h"
#include "ria/loop_run.h"

namespace ria {

struct RecognizerParts {
  MapHeader header;
  Preprocessing preprocessing;
  std::map<std::string, Matrix> fitted;
};

Recognizer::Recognizer(std::unique_ptr<RecognizerParts> parts) : parts_(std::move(parts)) {}
Recognizer::Recognizer(const Map& map, const BackboneOptions&)
    : parts_(new RecognizerParts{map.header(), {}, {}}) {}
Recognizer::~Recognizer() = default;
Recognizer::Recognizer(Recognizer&&) noexcept = default;
const Preprocessing& Recognizer::preprocessing() const { return parts_->preprocessing; }
const std::map<std::string, Matrix>& Recognizer::fitted() const { return parts_->fitted; }
const Reranker* Recognizer::reranker() const { return nullptr; }
int Recognizer::dim() const { return parts_->header.dim; }
MapHeader Recognizer::header() const { return parts_->header; }

Descriptor Recognizer::describe(const ImageView& picture) const {
  Descriptor out(static_cast<std::size_t>(dim()), 1.0f);
  for (int i = 0; i < dim(); ++i) out[static_cast<std::size_t>(i)] += (picture.width * (i + 1)) % 7;
  double squares = 0;
  for (const float value : out) squares += double{value} * value;
  for (float& value : out) value /= static_cast<float>(std::sqrt(squares));
  return out;
}

DescribedPicture Recognizer::describe_whole(const ImageView& picture) const {
  return {describe(picture), {}};
}

Recognizer RecognizerMaker::another(const Recognizer& recognizer) {
  return Recognizer(std::make_unique<RecognizerParts>(*recognizer.parts_));
}

std::vector<std::vector<Match>> search_among(const Recognizer&,
                                             const Map& map,
                                             const Descriptions& queries,
                                             int k,
                                             const SearchOptions& among,
                                             const RunOptions&,
                                             PairScores*) {
  const auto row = queries.descriptors.row(0);
  return {map.search(Descriptor(row.begin(), row.end()), k, among)};
}

Match guess_place(std::vector<Match>, const std::unordered_map<int, double>&, const LoopOptions&) {
  return {};
}

struct LoopCloser::Impl {
  Map map;
  LoopOptions options;
};

LoopCloser::LoopCloser(Recognizer, Map map, const LoopOptions& options)
    : impl_(new Impl{std::move(map), options}) {}
LoopCloser::~LoopCloser() = default;
LoopCloser::LoopCloser(LoopCloser&&) noexcept = default;

/// Every frame closes with the best place so far.
LoopResult LoopCloser::add(const DescribedPicture& picture, const LoopFrame& frame) {
  LoopResult result;
  const std::vector<Match> best = impl_->map.search(picture.descriptor, 1);
  if (!best.empty()) {
    result.loop = true;
    result.place = best[0].place;
    result.place_name = impl_->map.place(best[0].place).name;
    result.probability = best[0].score;
  }
  if (!impl_->options.keep) return result;
  Place place = place_named(frame.name);
  place.stamp = frame.stamp;
  result.kept_as = impl_->map.end();
  impl_->map.add(Matrix(1, impl_->map.header().dim, picture.descriptor), {place}, {});
  return result;
}

std::string LoopRun::frame_json(const LoopRunFrame&) { return "{}"; }

void set_thread_cores(int) {}

}  // namespace ria
