// SPDX-License-Identifier: MIT
#include "nn/panel_linear.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace ria {

namespace {

// Blocks that stay in the caches while they are used: a slice of a panel in the first, the weights
// that meet it in the second.
constexpr int kSlice = 384;         // inputs, fp32; int8 takes all at once
constexpr int kBlockOutputs = 128;  // fp32

/// To nearest, ties to even.
std::uint32_t rounded_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

/// Slices of nearly equal length.
int slice_length(int inputs, int longest) {
  const int slices = (inputs + longest - 1) / longest;
  return (inputs + slices - 1) / slices;
}

}  // namespace

PanelLinear::PanelLinear(const PanelKernels& kernels,
                         Precision precision,
                         const LinearSource& source)
    : kernels_(&kernels),
      precision_(precision),
      outputs_(source.outputs),
      inputs_(source.inputs),
      groups_((source.outputs + kernels.rows - 1) / kernels.rows),
      padded_inputs_(source.inputs),
      bias_(source.bias) {
  bias_.resize(static_cast<std::size_t>(groups_) * kernels.rows);
  switch (precision) {
    case Precision::kFp32:
      slice_ = slice_length(inputs_, kSlice);
      pack_float(source);
      break;
    case Precision::kBf16:
      padded_inputs_ = (inputs_ + 1) / 2;
      slice_ = slice_length(padded_inputs_, kSlice);
      pack_bf16(source);
      break;
    case Precision::kInt8:
      slice_ = padded_inputs_ = round_up(inputs_, kernels.depth);
      pack_int8(source);
      break;
  }
}

/// Where the weights of a group of outputs start at the slice of an input: in the order they are
/// used.
std::int64_t PanelLinear::offset(int group, int input) const {
  const std::int64_t slice = input / slice_ * slice_;
  const std::int64_t length = std::min<std::int64_t>(slice_, padded_inputs_ - slice);
  return (slice * groups_ + group * length) * kernels_->rows;
}

void PanelLinear::pack_float(const LinearSource& source) {
  const int rows = kernels_->rows;
  weights_ = AlignedBuffer<float>(static_cast<std::size_t>(groups_) * rows * inputs_);
#pragma omp parallel
  {
    std::vector<float> values(inputs_);
#pragma omp for schedule(static)
    for (int row = 0; row < outputs_; ++row) {
      source.read(row, values.data());
      for (int k = 0; k < inputs_; ++k) {
        weights_.data()[offset(row / rows, k) + k % slice_ * rows + row % rows] = values[k];
      }
    }
  }
}

void PanelLinear::pack_bf16(const LinearSource& source) {
  const int rows = kernels_->rows;
  pairs_ = AlignedBuffer<std::uint32_t>(static_cast<std::size_t>(groups_) * rows * padded_inputs_);
#pragma omp parallel
  {
    std::vector<float> values(2 * static_cast<std::size_t>(padded_inputs_));
#pragma omp for schedule(static)
    for (int row = 0; row < outputs_; ++row) {
      source.read(row, values.data());
      for (int k = 0; k < padded_inputs_; ++k) {
        const std::uint32_t low = rounded_to_bf16(values[2 * k]);
        const std::uint32_t high = rounded_to_bf16(values[2 * k + 1]);
        pairs_.data()[offset(row / rows, k) + k % slice_ * rows + row % rows] = low | high << 16;
      }
    }
  }
}

void PanelLinear::reserve(int panels, LinearScratch& scratch) const {
  const std::size_t lanes = kernels_->lanes;
  if (precision_ == Precision::kBf16) {
    scratch.quantized.reserve(panels * lanes * padded_inputs_ * sizeof(std::uint32_t));
  }
  if (precision_ != Precision::kInt8) return;
  scratch.quantized.reserve(panels * lanes * padded_inputs_);
  scratch.sums.reserve(kBlockOutputs * lanes);
  scratch.lanes.reserve(panels * 3 * lanes);
  scratch.outlier_rows.reserve(panels * 2 * kMostOutliers * lanes);
  scratch.outlier_weights.reserve(2 * kMostOutliers * bias_.size());
  scratch.outliers.resize(std::max<std::size_t>(panels, scratch.outliers.size()));
  scratch.outlier_list.reserve(2 * kMostOutliers);
}

/// Slice by slice of the inputs, block by block of the outputs, panel by panel.
template <typename Word, typename Product>
void PanelLinear::run_slices(Product product,
                             const Word* weights,
                             const Word* x,
                             std::int64_t x_stride,
                             const Outputs& outputs) const {
  const int rows = kernels_->rows, lanes = kernels_->lanes, block = kBlockOutputs / rows;
  const auto& [y, which, finish] = outputs;
  for (int k = 0; k < padded_inputs_; k += slice_) {
    const int length = std::min(slice_, padded_inputs_ - k);
    for (int group = 0; group < groups_; group += block) {
      // The bias comes with the first slice, the activation with the last.
      const Finish part{k == 0 ? finish.bias + group * rows : nullptr,
                        finish.accumulate || k > 0,
                        k + slice_ >= padded_inputs_ ? finish.activation : Activation::kNone};
      for (int p = 0; p < which.panels; ++p) {
        const std::int64_t lane = which.first_of(p);
        product(weights + offset(group, k),
                static_cast<std::int64_t>(length) * rows,
                std::min(block, groups_ - group),
                x + p * x_stride + static_cast<std::int64_t>(k) * lanes + lane,
                length,
                which.end_of(p, lanes) - static_cast<int>(lane),
                y.data + p * y.stride + static_cast<std::int64_t>(group) * rows * lanes + lane,
                part);
      }
    }
  }
}

void PanelLinear::run_bf16(Panels x, const Outputs& outputs, LinearScratch& scratch) const {
  const std::int64_t stride = static_cast<std::int64_t>(padded_inputs_) * kernels_->lanes;
  auto* words = reinterpret_cast<std::uint32_t*>(scratch.quantized.data());
  for (int p = 0; p < outputs.which.panels; ++p) {
    kernels_->round_bf16(x.data + p * x.stride, inputs_, words + p * stride);
  }
  run_slices<std::uint32_t>(kernels_->product_bf16, pairs_.data(), words, stride, outputs);
}

void PanelLinear::run(Panels x,
                      Panels y,
                      const PanelLanes& which,
                      bool accumulate,
                      Activation activation,
                      LinearScratch& scratch) const {
  const Outputs outputs{y, which, {bias_.data(), accumulate, activation}};
  switch (precision_) {
    case Precision::kFp32:
      return run_slices<float>(kernels_->product, weights_.data(), x.data, x.stride, outputs);
    case Precision::kBf16:
      return run_bf16(x, outputs, scratch);
    case Precision::kInt8:
      return run_int8(x, outputs, scratch);
  }
}

}  // namespace ria
