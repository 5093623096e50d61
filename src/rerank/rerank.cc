// SPDX-License-Identifier: MIT
#include "ria/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "rerank/bits.h"
#include "tensor/tensor.h"

namespace ria {

namespace {

std::int64_t cells_of(const PackedLocalFeatures& packed) {
  return static_cast<std::int64_t>(packed.grid_height) * packed.grid_width;
}

std::vector<std::uint8_t> pack_signs(const Matrix& rows) {
  if (rows.cols() % 32 != 0) {
    throw std::invalid_argument(
        fmt::format("signs of {} values a row, a multiple of 32 was expected", rows.cols()));
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows.rows()) * rows.cols() / 8);
  const std::span<const float> values = rows.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) bytes[i / 8] |= static_cast<std::uint8_t>(1 << i % 8);
  }
  return bytes;
}

void unpack_signs(const std::vector<std::uint8_t>& bytes, Matrix& rows) {
  const float magnitude = 1 / std::sqrt(static_cast<float>(rows.cols()));
  const std::size_t row_bytes = rows.cols() / 8;
  for (int r = 0; r < rows.rows(); ++r) {
    const std::uint8_t* bits = bytes.data() + r * row_bytes;
    if (std::all_of(bits, bits + row_bytes, [](std::uint8_t byte) { return byte == 0; })) continue;
    for (int i = 0; i < rows.cols(); ++i) {
      rows(r, i) = (bits[i / 8] >> i % 8 & 1) != 0 ? magnitude : -magnitude;
    }
  }
}

}  // namespace

bool keeps_signs(const PackedLocalFeatures& packed) {
  return packed.dim % 32 == 0 && std::ssize(packed.bytes) * 8 == cells_of(packed) * packed.dim;
}

PackedLocalFeatures pack(const LocalFeatures& local) {
  PackedLocalFeatures packed{{}, local.vectors.cols(), local.grid_height, local.grid_width};
  if (local.signs) {
    packed.bytes = pack_signs(local.vectors);
  } else {
    const std::vector<std::uint16_t> halves = to_halves(local.vectors.values());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(halves.data());
    packed.bytes.assign(bytes, bytes + halves.size() * sizeof(std::uint16_t));
  }
  return packed;
}

LocalFeatures unpack(const PackedLocalFeatures& packed) {
  const std::int64_t rows = cells_of(packed), values = rows * packed.dim;
  const bool signs = keeps_signs(packed);
  if (packed.grid_height < 0 || packed.grid_width < 0 || packed.dim < 0 ||
      (!signs && values * 2 != std::ssize(packed.bytes))) {
    throw std::invalid_argument("local features do not have the size of their grid");
  }
  LocalFeatures local{
      Matrix(static_cast<int>(rows), packed.dim), packed.grid_height, packed.grid_width, signs};
  if (signs) {
    unpack_signs(packed.bytes, local.vectors);
  } else {
    const auto* halves = reinterpret_cast<const std::uint16_t*>(packed.bytes.data());
    from_halves({halves, static_cast<std::size_t>(values)}, local.vectors.values());
  }
  return local;
}

namespace {

/// Unpacks every place.
class UnpackingQuery final : public PreparedQuery {
 public:
  UnpackingQuery(const Reranker& reranker, const PackedLocalFeatures& query)
      : reranker_(reranker), query_(unpack(query)) {}

  Agreement compare(const PackedLocalFeatures& place) override {
    return reranker_.compare(query_, unpack(place));
  }

 private:
  const Reranker& reranker_;
  LocalFeatures query_;
};

}  // namespace

PreparedQuery::~PreparedQuery() = default;

Likeness PreparedQuery::likeness() const { return {}; }

Reranker::~Reranker() = default;

std::unique_ptr<PreparedQuery> Reranker::prepare(const PackedLocalFeatures& query) const {
  return std::make_unique<UnpackingQuery>(*this, query);
}

std::vector<Match> Reranker::reorder(const std::vector<Match>& matches,
                                     const std::vector<double>& scores,
                                     const std::vector<Likeness>&) const {
  if (scores.size() != matches.size()) {
    throw std::invalid_argument("a score for each match was expected");
  }
  std::vector<Match> ordered;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    ordered.push_back({matches[i].place, static_cast<float>(scores[i])});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Match& a, const Match& b) {
    return a.score > b.score;
  });
  return ordered;
}

}  // namespace ria
