// SPDX-License-Identifier: MIT
#include "optimise/coder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "nn/gemm.h"
#include "nn/one_thread.h"
#include "structure/rounding.h"
#include "structure/tables.h"

namespace ria {

namespace {

constexpr int kReduced = 384, kGraphReduced = 256, kDegree = 16;
constexpr std::int64_t kCodeBytes = 512'000'000;
constexpr int kPcaRows = 16384;
constexpr int kRowsOfCentre = 64;
constexpr int kTableRows = 65536;
constexpr int kPcaBlocks = 1024, kSampleBlocks = 4096;

/// The largest power of two that is not above.
int power_below(double value) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1.0, value))));
}

using ConstRows = Eigen::Map<const EigenMatrix>;

/// While it is trained, a model is written where it lies.
float* writable(std::span<const float> part) { return const_cast<float*>(part.data()); }

}  // namespace

SearchShape choose_shape(SearchKind kind, int places, int dim, std::int64_t max_memory) {
  SearchShape shape;
  shape.kind = kind;
  shape.dim = dim;
  shape.places = places;
  if (kind == SearchKind::kGraph) {
    shape.reduced = std::min(kGraphReduced, power_below(dim));
    shape.degree = kDegree;
    return shape;
  }
  shape.reduced = std::min(kReduced, power_below(dim));
  shape.pairs = std::max(1, std::min(kMostPairs, shape.reduced / 2));
  // Codes may take half of the memory, and are read in some milliseconds.
  const auto too_many = [&] {
    return std::int64_t{places} * (shape.pairs + 10) > max_memory / 2 ||
           std::int64_t{places} * shape.pairs > kCodeBytes;
  };
  while (shape.pairs > 4 && too_many()) shape.pairs /= 2;
  shape.lists = power_below(1.5 * std::sqrt(static_cast<double>(places)));
  return shape;
}

Coder::Coder(const SearchShape& shape,
             const Blocks& blocks,
             std::int64_t max_memory,
             std::uint64_t seed,
             const FaissFunctions& faiss)
    : shape_(shape), values_(model_values(shape)), model_(model_of(shape_, values_)) {
  reduce(blocks, max_memory, faiss);
  prepare();
  if (shape.kind == SearchKind::kGraph) return;
  make_lists(blocks, max_memory, seed, faiss);
  prepare();
}

void Coder::reduce(const Blocks& blocks, std::int64_t max_memory, const FaissFunctions& faiss) {
  const int dim = shape_.dim, reduced = shape_.reduced;
  const auto most = static_cast<int>(
      std::clamp<std::int64_t>(max_memory / 8 / (4 * std::int64_t{dim}), 1024, kPcaRows));
  const Matrix some = sample(blocks, dim <= 4096 ? most : std::min(most, 4096), kPcaBlocks, false);
  std::vector<float> mean(static_cast<std::size_t>(dim)), variances(reduced);
  EigenMatrix directions(reduced, dim);
  {
    const OneThread same_bits;
    faiss.pca(
        some.data(), some.rows(), dim, reduced, mean.data(), directions.data(), variances.data());
  }
  std::ranges::copy(mean, writable(model_.mean));
  // A strong direction and a weak one share a part, so that all parts have about as much to tell.
  const int part = shape_.part();
  double inside = 0, all = 0;
  for (int i = 0; i < reduced; ++i) {
    const int from = i % part % 2 == 0 ? i / part + i % part * (reduced / part)
                                       : (i % part + 1) * (reduced / part) - 1 - i / part;
    std::copy_n(directions.row(from).data(),
                dim,
                writable(model_.projection) + static_cast<std::size_t>(i) * shape_.values());
    writable(model_.variances)[i] = variances[from];
    inside += variances[from];
  }
  for (int r = 0; r < some.rows(); ++r) {
    for (int i = 0; i < dim; ++i) {
      const double off = some.row(r)[i] - mean[i];
      all += off * off;
    }
  }
  writable(model_.variances)[reduced] =
      static_cast<float>(std::max(0.0, all / some.rows() - inside) / std::max(1, dim - reduced));
}

void Coder::make_lists(const Blocks& blocks,
                       std::int64_t max_memory,
                       std::uint64_t seed,
                       const FaissFunctions& faiss) {
  const int reduced = shape_.reduced;
  const auto wanted = static_cast<int>(std::min<std::int64_t>(
      std::int64_t{kRowsOfCentre} * shape_.lists, max_memory / 8 / (4 * std::int64_t{reduced})));
  // Projected some blocks at a time: as they are they would not fit.
  const int used = std::clamp(std::min(kSampleBlocks, wanted), 1, blocks.count());
  EigenMatrix projected(0, reduced);
  {
    std::vector<float> rows;
    const int each = (wanted + used - 1) / used;
    for (int b = 0; b < used; ++b) {
      const Blocks one(blocks.store(), {blocks.all()[std::int64_t{b} * blocks.count() / used]});
      const EigenMatrix some = project(sample(one, each, 1, false));
      rows.insert(rows.end(), some.data(), some.data() + some.size());
    }
    projected = ConstRows(rows.data(), static_cast<Eigen::Index>(rows.size()) / reduced, reduced);
  }
  const auto count = static_cast<int>(projected.rows());
  faiss.kmeans(projected.data(), count, reduced, shape_.lists, seed, writable(model_.centres));
  prepare();
  const int residuals = std::min(count, kTableRows);
  EigenMatrix some(residuals, reduced);
  for (int i = 0; i < residuals; ++i)
    some.row(i) = projected.row(std::int64_t{i} * count / residuals);
  const std::vector<std::int32_t> lists = nearest_centres(some);
  for (int i = 0; i < residuals; ++i) some.row(i) -= centres_.col(lists[i]).transpose();
  faiss.tables(some.data(), residuals, reduced, 2 * shape_.pairs, writable(model_.tables));
}

Coder::Coder(const SearchShape& shape, std::vector<float> values)
    : shape_(shape), values_(std::move(values)) {
  prepare();
}

void Coder::prepare() {
  model_ = model_of(shape_, values_);
  projection_ = ConstRows(model_.projection.data(), shape_.reduced, shape_.values())
                    .leftCols(shape_.dim)
                    .transpose();
  centres_ = ConstRows(model_.centres.data(), shape_.lists, shape_.reduced).transpose();
  centre_squares_ = centres_.colwise().squaredNorm().transpose();
  mean_ = Eigen::Map<const EigenVector>(model_.mean.data(), shape_.dim);
}

EigenMatrix Coder::project(const Matrix& rows) const {
  constexpr Eigen::Index kTogether = 64;
  EigenMatrix projected(rows.rows(), shape_.reduced);
  const Eigen::Index parts = (projected.rows() + kTogether - 1) / kTogether;
  // Each part on one core, so that its bits do not depend on how many there are.
#pragma omp parallel for schedule(dynamic, 1)
  for (Eigen::Index part = 0; part < parts; ++part) {
    const Eigen::Index first = part * kTogether;
    const Eigen::Index some = std::min(kTogether, projected.rows() - first);
    const EigenMatrix off = as_eigen(rows).middleRows(first, some).rowwise() - mean_.transpose();
    projected.middleRows(first, some) = product(off, projection_);
  }
  return projected;
}

std::vector<std::int32_t> Coder::nearest_centres(const EigenMatrix& projected) const {
  constexpr Eigen::Index kTogether = 1024;
  std::vector<std::int32_t> lists;
  for (Eigen::Index first = 0; first < projected.rows(); first += kTogether) {
    const Eigen::Index some = std::min(kTogether, projected.rows() - first);
    const EigenMatrix sums = product(projected.middleRows(first, some), centres_);
    for (Eigen::Index i = 0; i < some; ++i) {
      Eigen::Index best = 0;
      (centre_squares_.transpose() - 2 * sums.row(i)).minCoeff(&best);
      lists.push_back(static_cast<std::int32_t>(best));
    }
  }
  return lists;
}

Coder::Codes Coder::bytes_of(const EigenMatrix& projected) const {
  Codes made;
  const auto code_bytes = static_cast<std::size_t>(shape_.graph().code_bytes());
  const auto values = static_cast<std::size_t>(shape_.reduced);
  made.codes.resize(static_cast<std::size_t>(projected.rows()) * code_bytes);
  auto* code = reinterpret_cast<std::int8_t*>(made.codes.data());
  for (Eigen::Index r = 0; r < projected.rows(); ++r, code += code_bytes) {
    const float scale = round_to({projected.row(r).data(), values}, kByteLevels, code);
    const int square = std::inner_product(code, code + values, code, 0);
    made.sizes.push_back({scale, scale * scale * static_cast<float>(square) / 2});
  }
  return made;
}

Coder::Codes Coder::code(const Matrix& rows) const {
  EigenMatrix projected = project(rows);
  if (shape_.kind == SearchKind::kGraph) return bytes_of(projected);
  Codes made{nearest_centres(projected), {}, {}, {}};
  made.codes.resize(static_cast<std::size_t>(rows.rows()) * shape_.pairs);
  for (int r = 0; r < rows.rows(); ++r) {
    // What the projection leaves out, and then what the tables do.
    const double all = (as_eigen(rows).row(r) - mean_.transpose()).squaredNorm();
    const double beyond = std::max(0.0, all - double{projected.row(r).squaredNorm()});
    projected.row(r) -= centres_.col(made.lists[r]).transpose();
    const double left =
        nearest_entries(shape_,
                        model_,
                        projected.row(r).data(),
                        made.codes.data() + static_cast<std::size_t>(r) * shape_.pairs);
    made.errors.push_back(rounded_error(std::sqrt(beyond + left)));
  }
  return made;
}

}  // namespace ria
