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
constexpr int kSlice = 384;         // inputs, fp32 (of each half); int8 takes all at once
constexpr int kBlockOutputs = 128;  // fp32

// Inputs and outputs from which on a layer multiplies pairs of panels by halves.
constexpr int kLeastOfPairs = 512;

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
      // Halves begin and end with a vector of weights.
      if (std::min(inputs_, outputs_) >= kLeastOfPairs && inputs_ % 4 == 0 && groups_ % 2 == 0) {
        halves_ = 2;
      }
      slice_ = slice_length(inputs_, halves_ * kSlice);
      if (halves_ == 2) slice_ = round_up(slice_, 4);
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
  if (takes_pairs()) {
    scratch.input_sums.reserve(panels / 2 * lanes * 2 * slice_);
    scratch.weight_sums.reserve(std::size_t{4} * kernels_->rows * slice_);
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

/// Slice by slice of the inputs, block by block of the outputs.
template <typename Run>
void PanelLinear::each_block(Run run) const {
  const int block = kBlockOutputs / halves_ / kernels_->rows;
  for (int k = 0; k < padded_inputs_; k += slice_) {
    const int length = std::min(slice_, padded_inputs_ - k);
    for (int group = 0; group < groups_; group += block) {
      run(Block{k, length, group, std::min(block, groups_ - group)});
    }
  }
}

/// The bias comes with the first inputs, the activation with the last.
Finish PanelLinear::part_of(const Finish& finish, int group, int input, int end) const {
  return {input == 0 ? finish.bias + group * kernels_->rows : nullptr,
          finish.accumulate || input > 0,
          end == padded_inputs_ ? finish.activation : Activation::kNone};
}

/// Panel by panel, all that are not multiplied as pairs.
template <typename Word, typename Product>
void PanelLinear::run_block(Product product,
                            const Word* weights,
                            const Word* x,
                            std::int64_t x_stride,
                            const Outputs& outputs,
                            const Block& block) const {
  const int rows = kernels_->rows, lanes = kernels_->lanes, length = block.length / halves_;
  const auto& [y, which, finish] = outputs;
  for (int half = 0; half < halves_; ++half) {
    const std::int64_t k = block.input + half * length;
    const Finish part = part_of(finish, block.group, k, k + length);
    for (int p = 0; p < which.panels; ++p) {
      if (takes_pairs() && !which.is_alone(p)) continue;
      const std::int64_t lane = which.first_of(p);
      product(weights + offset(block.group, block.input) + half * length * rows,
              static_cast<std::int64_t>(block.length) * rows,
              block.groups,
              x + p * x_stride + k * lanes + lane,
              length,
              which.end_of(p, lanes) - static_cast<int>(lane),
              y.data + p * y.stride + static_cast<std::int64_t>(block.group) * rows * lanes + lane,
              part);
    }
  }
}

void PanelLinear::run_float(Panels x, const Outputs& outputs, LinearScratch& scratch) const {
  const bool pairs = takes_pairs() && outputs.which.paired != 0;
  each_block([&](const Block& block) {
    if (pairs) {
      if (block.group == 0) start_pairs(x, outputs.which, block, scratch);
      run_pairs(x, outputs, block, scratch);
    }
    run_block<float>(kernels_->product, weights_.data(), x.data, x.stride, outputs, block);
  });
}

void PanelLinear::run_bf16(Panels x, const Outputs& outputs, LinearScratch& scratch) const {
  const std::int64_t stride = static_cast<std::int64_t>(padded_inputs_) * kernels_->lanes;
  auto* words = reinterpret_cast<std::uint32_t*>(scratch.quantized.data());
  for (int p = 0; p < outputs.which.panels; ++p) {
    kernels_->round_bf16(x.data + p * x.stride, inputs_, words + p * stride);
  }
  each_block([&](const Block& block) {
    run_block<std::uint32_t>(kernels_->product_bf16, pairs_.data(), words, stride, outputs, block);
  });
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
      return run_float(x, outputs, scratch);
    case Precision::kBf16:
      return run_bf16(x, outputs, scratch);
    case Precision::kInt8:
      return run_int8(x, outputs, scratch);
  }
}

}  // namespace ria
