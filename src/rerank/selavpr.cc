// SPDX-License-Identifier: MIT
#include "rerank/selavpr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "aggregate/features.h"
#include "archive/bytes.h"
#include "nn/gemm.h"
#include "rerank/mutual.h"
#include "weights/prefixes.h"

namespace ria {

namespace {

constexpr int kTaps = 9;  // of a 3 x 3 kernel

/// Channels x positions, as the products below take and give them.
struct Map {
  EigenMatrix values;
  int height = 0, width = 0;
};

/// Output positions along one axis that a tap reaches: 2 i + tap - 1 for every input i, as far as
/// they are on the grid.
struct Reach {
  Reach(int tap, int inputs) : first(tap == 0 ? 1 : 0), end(tap == 2 ? inputs - 1 : inputs) {}
  int first, end;  // inputs
};

/// A transposed convolution, kernel 3, stride 2, padding 1: n inputs give 2 n - 1 outputs, an even
/// one from one tap, an odd one from two. Every input meets every tap in one product, and what
/// belongs to the same output is added up: no zeros are ever multiplied.
class UpConvolution {
 public:
  UpConvolution(const TensorFile& file,
                const std::map<std::string, std::string>& names,
                const std::string& layer) {
    const Tensor& weight = file.at(names.at(layer + ".weight"));
    const auto& shape = weight.shape;
    if (shape.size() != 4 || shape[0] < 1 || shape[1] < 1 || shape[2] != 3 || shape[3] != 3 ||
        shape[0] > kMostChannels || shape[1] > kMostChannels) {
      throw read_error(file.path(), layer + ".weight is no 3 x 3 kernel of an up-convolution");
    }
    const Eigen::Index in = shape[0], out = shape[1];
    const std::vector<float> values = weight.floats();  // [in][out][tap]
    taps_.resize(kTaps * out, in);
    for (Eigen::Index i = 0; i < in; ++i) {
      for (Eigen::Index o = 0; o < out; ++o) {
        for (int tap = 0; tap < kTaps; ++tap) {
          taps_(tap * out + o, i) = values[(i * out + o) * kTaps + tap];
        }
      }
    }
    const auto found = names.find(layer + ".bias");
    if (found == names.end()) throw read_error(file.path(), layer + ".bias is missing");
    const std::vector<float> bias = file.at(found->second).floats();
    if (static_cast<Eigen::Index>(bias.size()) != out) {
      throw read_error(
          file.path(),
          fmt::format("{}.bias has {} values, {} were expected", layer, bias.size(), out));
    }
    bias_ = as_eigen(bias);
  }

  int inputs() const { return static_cast<int>(taps_.cols()); }
  int outputs() const { return static_cast<int>(bias_.size()); }

  Map run(const Map& x) const {
    const EigenMatrix products = product(taps_, x.values);  // [tap][output] x positions of x
    Map y{EigenMatrix(), 2 * x.height - 1, 2 * x.width - 1};
    y.values = bias_.replicate(1, static_cast<Eigen::Index>(y.height) * y.width);
    for (int channel = 0; channel < outputs(); ++channel) {
      for (int tap = 0; tap < kTaps; ++tap) {
        add(products.row(tap * outputs() + channel).data(), x, tap, y.values.row(channel).data());
      }
    }
    return y;
  }

 private:
  static constexpr std::int64_t kMostChannels = 1 << 16;

  static void add(const float* from, const Map& x, int tap, float* to) {
    const Reach down(tap / 3, x.height), across(tap % 3, x.width);
    const int width = 2 * x.width - 1;
    for (int i = down.first; i < down.end; ++i) {
      float* row = to + static_cast<std::ptrdiff_t>(2 * i + tap / 3 - 1) * width + tap % 3 - 1;
      const float* values = from + static_cast<std::ptrdiff_t>(i) * x.width;
      for (int j = across.first; j < across.end; ++j) row[2 * j] += values[j];
    }
  }

  EigenMatrix taps_;  // [tap][output] x input
  EigenVector bias_;
};

class Selavpr final : public Reranker {
 public:
  Selavpr(UpConvolution first, UpConvolution second)
      : first_(std::move(first)), second_(std::move(second)) {}

  LocalFeatures extract(const PatchFeatures& features) const override {
    if (features.patches.cols() != first_.inputs()) {
      throw std::invalid_argument(fmt::format(
          "features have {} columns, {} were expected", features.patches.cols(), first_.inputs()));
    }
    check_grid(features);
    Map map{as_eigen(features.patches).transpose(), features.grid_height, features.grid_width};
    map = first_.run(map);
    map.values = map.values.cwiseMax(0.0f);
    map = second_.run(map);
    LocalFeatures local{to_matrix(map.values.transpose()), map.height, map.width};
    const EigenVector lengths =
        row_square_sums(as_eigen(local.vectors)).cwiseSqrt().cwiseMax(1e-12f);
    as_eigen(local.vectors).array().colwise() /= lengths.array();
    return local;
  }

  Agreement compare(const LocalFeatures& query, const LocalFeatures& place) const override {
    Agreement agreement;
    agreement.pairs = static_cast<int>(agreeing_pairs(query, place).size());
    // As published: a single pair is no agreement.
    agreement.score = agreement.pairs == 1 ? 0.0 : agreement.pairs;
    return agreement;
  }

  std::vector<CellPair> agreeing_pairs(const LocalFeatures& query,
                                       const LocalFeatures& place) const override {
    if (query.vectors.cols() != place.vectors.cols()) {
      throw std::invalid_argument(fmt::format("local features have {} columns, the place's have {}",
                                              query.vectors.cols(),
                                              place.vectors.cols()));
    }
    std::vector<CellPair> pairs;
    for (const auto& [from, to] : mutual_neighbours(query.vectors, place.vectors)) {
      pairs.push_back({from, to, 1.0f});
    }
    return pairs;
  }

  /// As published: of equal scores the later match comes first.
  std::vector<Match> reorder(const std::vector<Match>& matches,
                             const std::vector<double>& scores,
                             const std::vector<Likeness>&) const override {
    return Reranker::reorder(
        {matches.rbegin(), matches.rend()}, {scores.rbegin(), scores.rend()}, {});
  }

 private:
  UpConvolution first_, second_;
};

}  // namespace

std::unique_ptr<Reranker> read_selavpr_reranker(const TensorFile& file) {
  const std::string first = "LocalAdapt.upconv1", second = "LocalAdapt.upconv2";
  const auto names = names_behind_prefix(file, {first + ".weight", second + ".weight"});
  if (names.empty()) {
    throw read_error(
        file.path(),
        fmt::format(
            "it has no local features of SelaVPR ({}.weight and {}.weight)", first, second));
  }
  UpConvolution up1(file, names, first), up2(file, names, second);
  if (up2.inputs() != up1.outputs()) {
    throw read_error(
        file.path(),
        fmt::format(
            "{} takes {} channels, {} gives {}", second, up2.inputs(), first, up1.outputs()));
  }
  return std::make_unique<Selavpr>(std::move(up1), std::move(up2));
}

}  // namespace ria
