// SPDX-License-Identifier: MIT
// Linear layers in 8 bits: weights with a scale for each output, activations with one for each
// token, and what lies far beyond the rest in float32.
#include <algorithm>
#include <array>
#include <cmath>

#include "nn/panel_linear.h"

namespace ria {

namespace {

// Blocks that stay in the caches while they are used.
constexpr int kBlockOutputs = 128;
constexpr int kBlockBytes = 96 << 10;        // of weights, int8
constexpr int kActivationBytes = 256 << 10;  // of activations, int8

constexpr float kOutlier = 8;  // root mean squares from which a channel is computed in float32
constexpr float kWeightOutlier =
    4;  // likewise: largest weight of an input, against the median input

}  // namespace

/// Inputs some weight of which dwarfs those of the others: they would cost all others their
/// precision.
std::vector<char> PanelLinear::outlying_inputs(const LinearSource& source) const {
  std::vector<float> largest(inputs_, 0.0f);
#pragma omp parallel
  {
    std::vector<float> values(inputs_), mine(inputs_, 0.0f);
#pragma omp for schedule(static)
    for (int row = 0; row < outputs_; ++row) {
      source.read(row, values.data());
      for (int k = 0; k < inputs_; ++k) mine[k] = std::max(mine[k], std::abs(values[k]));
    }
#pragma omp critical
    for (int k = 0; k < inputs_; ++k) largest[k] = std::max(largest[k], mine[k]);
  }
  std::vector<float> sorted = largest;
  std::nth_element(sorted.begin(), sorted.begin() + inputs_ / 2, sorted.end());
  const float bound = kWeightOutlier * sorted[inputs_ / 2];
  std::vector<char> outlying(inputs_);
  for (int k = 0; k < inputs_; ++k) outlying[k] = largest[k] > bound;
  return outlying;
}

void PanelLinear::pack_int8(const LinearSource& source) {
  const int rows = kernels_->rows;
  bytes_ = AlignedBuffer<std::uint8_t>(static_cast<std::size_t>(groups_) * rows * padded_inputs_);
  scales_.assign(static_cast<std::size_t>(groups_) * rows, 0.0f);
  weight_sums_.assign(scales_.size(), 0);
  const std::vector<char> outlying = outlying_inputs(source);
  for (int k = 0; k < inputs_ && static_cast<int>(outlying_.size()) < kMostOutliers; ++k) {
    if (outlying[k]) outlying_.push_back(k);
  }
  outlying_weights_.resize(outlying_.size() * bias_.size());
#pragma omp parallel
  {
    std::vector<float> values(inputs_);
#pragma omp for schedule(static)
    for (int row = 0; row < outputs_; ++row) {
      source.read(row, values.data());
      for (std::size_t e = 0; e < outlying_.size(); ++e) {
        outlying_weights_[e * bias_.size() + row] = values[outlying_[e]];
        values[outlying_[e]] = 0;
      }
      pack_row(row, values.data());
    }
  }
}

namespace {

/// The scale of a row that loses least: a few large weights may be cut off.
float best_scale(const float* values, int count, int levels) {
  float largest = 0;
  for (int k = 0; k < count; ++k) largest = std::max(largest, std::abs(values[k]));
  if (largest == 0) return 1;
  float best = 0, least = INFINITY;
  for (const float share : {1.0f, 0.93f, 0.86f, 0.8f, 0.74f, 0.68f}) {
    const float scale = largest * share / static_cast<float>(levels), inverse = 1 / scale;
    const float bound = static_cast<float>(levels);
    float loss = 0;
    for (int k = 0; k < count; ++k) {
      const float q = std::min(std::max(std::nearbyint(values[k] * inverse), -bound), bound);
      const float error = values[k] - q * scale;
      loss += error * error;
    }
    if (loss < least) {
      least = loss;
      best = scale;
    }
  }
  return best;
}

}  // namespace

void PanelLinear::pack_row(int row, const float* values) {
  const int levels = kernels_->weight_levels;
  const float scale = best_scale(values, inputs_, levels), inverse = 1 / scale;
  std::int32_t sum = 0;
  for (int k = 0; k < inputs_; ++k) {
    const int q =
        std::clamp(static_cast<int>(std::nearbyint(values[k] * inverse)), -levels, levels);
    sum += q;
    bytes_.data()[byte_of(row, k)] = static_cast<std::uint8_t>(q + levels);
  }
  scales_[row] = scale;
  weight_sums_[row] = sum;
}

/// [k / depth][depth / 4][row][4] from offset() on
std::int64_t PanelLinear::byte_of(int row, int k) const {
  const int rows = kernels_->rows, depth = kernels_->depth, within = k % slice_;
  return offset(row / rows, k) + within / depth * depth * rows + within % depth / 4 * 4 * rows +
         row % rows * 4 + k % 4;
}

/// What lies far beyond the rest of a panel, beside the inputs whose weights do.
PanelOutliers PanelLinear::find_outliers(const float* panel) const {
  PanelOutliers found;
  int* const first = found.channels.data();
  for (float limit = kOutlier;; limit *= 1.5f) {
    found.count = kernels_->find_outliers(panel, inputs_, limit, first, kMostOutliers);
    if (found.count <= kMostOutliers) break;
  }
  const auto listed = [&](int channel) {
    return std::binary_search(outlying_.begin(), outlying_.end(), channel);
  };
  found.count = static_cast<int>(std::remove_if(first, first + found.count, listed) - first);
  return found;
}

/// Lists the outliers of as many panels from `first` on as there is room for: those of the weights,
/// then the panels' by rising channel. Returns the end of these panels.
int PanelLinear::list_outliers(int first, int panels, LinearScratch& scratch) const {
  std::vector<int>& list = scratch.outlier_list;
  list.assign(outlying_.begin(), outlying_.end());
  const auto fixed = static_cast<std::ptrdiff_t>(list.size());
  std::array<int, 2 * kMostOutliers> merged{};
  int end = first;
  for (; end < panels; ++end) {
    const PanelOutliers& found = scratch.outliers[end];
    const auto last = std::set_union(list.begin() + fixed,
                                     list.end(),
                                     found.channels.begin(),
                                     found.channels.begin() + found.count,
                                     merged.begin());
    if (last - merged.begin() > kMostOutliers) break;
    list.resize(fixed);
    list.insert(list.end(), merged.begin(), last);
  }
  return end;
}

/// Moves the outlying channels of each panel out of x into scratch.outlier_rows. A channel that is
/// listed for another panel stays, and its row is zero: it changes no sum, so that a panel's
/// results do not depend on its neighbours.
void PanelLinear::split_outliers(Panels x, int first, int end, LinearScratch& scratch) const {
  const std::size_t lanes = kernels_->lanes;
  const std::vector<int>& list = scratch.outlier_list;
  for (int p = first; p < end; ++p) {
    float* to = scratch.outlier_rows.data() + p * 2 * kMostOutliers * lanes;
    const PanelOutliers& found = scratch.outliers[p];
    const auto own = found.channels.begin();
    for (std::size_t e = 0; e < list.size(); ++e, to += lanes) {
      if (e < outlying_.size() || std::binary_search(own, own + found.count, list[e])) {
        float* row = x.data + p * x.stride + static_cast<std::int64_t>(list[e]) * lanes;
        std::copy_n(row, lanes, to);
        std::fill_n(row, lanes, 0.0f);
      } else {
        std::fill_n(to, lanes, 0.0f);
      }
    }
  }
}

/// Weights of some inputs as product() reads them.
void PanelLinear::gather_weights(const std::vector<int>& inputs, float* packed) const {
  const int rows = kernels_->rows, levels = kernels_->weight_levels;
  for (int row = 0; row < outputs_; ++row) {
    float* to = packed + static_cast<std::size_t>(row / rows) * rows * inputs.size() + row % rows;
    for (std::size_t e = 0; e < inputs.size(); ++e) {
      const bool kept = e < outlying_.size();  // listed first, in this order
      to[e * rows] =
          kept ? outlying_weights_[e * bias_.size() + row]
               : scales_[row] * static_cast<float>(bytes_.data()[byte_of(row, inputs[e])] - levels);
    }
  }
}

void PanelLinear::run_int8(Panels x, const Outputs& outputs, LinearScratch& scratch) const {
  const int panels = outputs.which.panels, lanes = kernels_->lanes;
  const int last_end = outputs.which.end;
  // What is left in lanes without a token must not decide which channels are outliers.
  float* last = x.data + (panels - 1) * x.stride;
  for (int k = 0; k < inputs_ && last_end < lanes; ++k, last += lanes) {
    std::fill(last + last_end, last + lanes, 0.0f);
  }
  for (int p = 0; p < panels; ++p) scratch.outliers[p] = find_outliers(x.data + p * x.stride);
  for (int first = 0, end = 0; first < panels; first = end) {
    end = list_outliers(first, panels, scratch);
    split_outliers(x, first, end, scratch);
    for (int p = first; p < end; ++p) {
      kernels_->quantize(
          x.data + p * x.stride,
          inputs_,
          scratch.quantized.data() + static_cast<std::int64_t>(p) * padded_inputs_ * lanes,
          lane_scales(scratch, p));
    }
    run_listed(outputs, first, end, scratch);
  }
}

/// Quantised panels whose outliers are listed.
void PanelLinear::run_listed(const Outputs& outputs,
                             int begin,
                             int end,
                             LinearScratch& scratch) const {
  const auto& [y, which, finish] = outputs;
  const int rows = kernels_->rows, lanes = kernels_->lanes;
  const int count = static_cast<int>(scratch.outlier_list.size());
  if (count > 0) gather_weights(scratch.outlier_list, scratch.outlier_weights.data());
  const int block = std::clamp(kBlockBytes / (padded_inputs_ * rows), 1, kBlockOutputs / rows);
  const int some = std::max(1, kActivationBytes / (padded_inputs_ * lanes));
  for (int first = begin; first < end; first += some) {
    for (int group = 0; group < groups_; group += block) {
      for (int p = first; p < std::min(end, first + some); ++p) {
        Finish part{finish.bias + group * rows, finish.accumulate, finish.activation};
        const int tokens = which.end_of(p, lanes);
        const int groups = std::min(block, groups_ - group);
        float* out = y.data + p * y.stride + static_cast<std::int64_t>(group) * rows * lanes;
        if (!outlying_.empty() || scratch.outliers[p].count > 0) {
          kernels_->product(
              scratch.outlier_weights.data() + static_cast<std::int64_t>(group) * rows * count,
              static_cast<std::int64_t>(rows) * count,
              groups,
              scratch.outlier_rows.data() +
                  static_cast<std::int64_t>(p) * 2 * kMostOutliers * lanes,
              count,
              tokens,
              out,
              {part.bias, part.accumulate});
          part = {nullptr, true, finish.activation};
        }
        multiply_int8(group, groups, p, tokens, out, part, scratch);
      }
    }
  }
}

/// Some outputs of one panel.
void PanelLinear::multiply_int8(int group,
                                int groups,
                                int panel,
                                int tokens,
                                float* out,
                                const Finish& finish,
                                LinearScratch& scratch) const {
  const std::int64_t stride = static_cast<std::int64_t>(padded_inputs_) * kernels_->rows;
  const int first = group * kernels_->rows;
  kernels_->product_int8(bytes_.data() + group * stride,
                         stride,
                         groups,
                         scratch.quantized.data() +
                             static_cast<std::int64_t>(panel) * padded_inputs_ * kernels_->lanes,
                         padded_inputs_,
                         tokens,
                         scratch.sums.data());
  kernels_->dequantize(scratch.sums.data(),
                       groups * kernels_->rows,
                       scales_.data() + first,
                       weight_sums_.data() + first,
                       lane_scales(scratch, panel),
                       out,
                       finish);
}

LaneScales PanelLinear::lane_scales(LinearScratch& scratch, int panel) const {
  const int lanes = kernels_->lanes;
  float* at = scratch.lanes.data() + static_cast<std::ptrdiff_t>(panel) * 3 * lanes;
  return {at,
          reinterpret_cast<std::int32_t*>(at + lanes),
          reinterpret_cast<std::int32_t*>(at + 2 * lanes)};
}

}  // namespace ria
