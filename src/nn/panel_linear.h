// SPDX-License-Identifier: MIT
// A linear layer on panels of tokens (see panel_kernels.h), its weights packed once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/panel_kernels.h"
#include "ria/backbone.h"
#include "util/aligned.h"

namespace ria {

/// Where a layer's weights come from, a row at a time, so that a large file is never held twice.
struct LinearSource {
  int outputs = 0;
  int inputs = 0;
  std::function<void(int row, float* values)> read;  ///< called from many threads
  std::vector<float> bias;                           ///< outputs
};

constexpr int kMostOutliers = 64;  ///< int8: inputs of a layer that are computed in float32

/// int8: channels of one panel that are computed in float32, rising.
struct PanelOutliers {
  int count = 0;
  std::array<int, kMostOutliers> channels;
};

/// Room a thread needs to run layers, enough for the largest.
struct LinearScratch {
  AlignedBuffer<std::int8_t> quantized;
  AlignedBuffer<std::int32_t> sums;
  AlignedBuffer<float> lanes;         ///< scales, zeros and sums of each panel
  AlignedBuffer<float> outlier_rows;  ///< [panel][outlier][lane]
  AlignedBuffer<float> outlier_weights;
  std::vector<PanelOutliers> outliers;  ///< of each panel
  std::vector<int> outlier_list;        ///< of some panels together
  AlignedBuffer<float> input_sums;      ///< of each two panels, see StrassenTask
  AlignedBuffer<float> weight_sums;     ///< of the groups that are multiplied and of the next
};

/// Panels that go through a layer together: [panel][channel][lane].
struct Panels {
  float* data = nullptr;
  std::int64_t stride = 0;  ///< floats from a panel to the next
};

/// Which lanes of them: all, but for the first lanes of the first and the last of the last. Two
/// panels that are a pair have the same lanes here and lend each other their sums: who is paired
/// with whom decides the rounding of both.
struct PanelLanes {
  int panels = 0;
  int first = 0;             ///< of the first panel or pair, at the beginning of a vector; int8: 0
  int end = 0;               ///< of the last panel or pair
  std::uint32_t paired = 0;  ///< bit p: panel p is half of a pair

  bool is_alone(int panel) const { return panel >= 32 || (paired >> panel & 1) == 0; }
  int first_of(int panel) const { return panel < (is_alone(0) ? 1 : 2) ? first : 0; }
  int end_of(int panel, int lanes) const {
    return panel + (is_alone(panels - 1) ? 1 : 2) >= panels ? end : lanes;
  }
};

class PanelLinear {
 public:
  PanelLinear() = default;
  /// int8 packs 8-bit weights, each output with its own scale; bf16 packs pairs of inputs.
  PanelLinear(const PanelKernels& kernels, Precision precision, const LinearSource& source);

  int outputs() const { return outputs_; }
  int inputs() const { return inputs_; }

  /// Whether pairs of panels take fewer multiplications than their panels alone. By shape: layers
  /// so large that the sums are next to nothing.
  bool takes_pairs() const { return halves_ == 2; }

  /// y = finish(W x + bias) for some lanes of some panels. A lane's results do not depend on those
  /// it is run with, but for its pair's. int8 empties the outlying channels of x and the lanes that
  /// are left out.
  void run(Panels x,
           Panels y,
           const PanelLanes& which,
           bool accumulate,
           Activation activation,
           LinearScratch& scratch) const;

  /// Makes room for run() on `panels` panels.
  void reserve(int panels, LinearScratch& scratch) const;

 private:
  void pack_float(const LinearSource& source);
  void pack_bf16(const LinearSource& source);
  void pack_int8(const LinearSource& source);
  std::vector<char> outlying_inputs(const LinearSource& source) const;
  void pack_row(int row, const float* values);
  /// Where results go.
  struct Outputs {
    Panels y;
    PanelLanes which;
    Finish finish;
  };
  /// A slice of the inputs and some groups of outputs.
  struct Block {
    int input, length;
    int group, groups;
  };
  template <typename Run>
  void each_block(Run run) const;
  template <typename Word, typename Product>
  void run_block(Product product,
                 const Word* weights,
                 const Word* x,
                 std::int64_t x_stride,
                 const Outputs& outputs,
                 const Block& block) const;
  Finish part_of(const Finish& finish, int group, int input, int end) const;
  void run_float(Panels x, const Outputs& outputs, LinearScratch& scratch) const;
  void start_pairs(Panels x, const PanelLanes& which, const Block& block, LinearScratch& s) const;
  void run_pairs(Panels x, const Outputs& outputs, const Block& block, LinearScratch& s) const;
  void run_bf16(Panels x, const Outputs& outputs, LinearScratch& scratch) const;
  void run_int8(Panels x, const Outputs& outputs, LinearScratch& scratch) const;
  void multiply_int8(int group,
                     int groups,
                     int panel,
                     int tokens,
                     float* out,
                     const Finish& finish,
                     LinearScratch& scratch) const;
  LaneScales lane_scales(LinearScratch& scratch, int panel) const;
  PanelOutliers find_outliers(const float* panel) const;
  int list_outliers(int first, int panels, LinearScratch& scratch) const;
  void split_outliers(Panels x, int first, int end, LinearScratch& scratch) const;
  void run_listed(const Outputs& outputs, int first, int end, LinearScratch& scratch) const;
  void gather_weights(const std::vector<int>& inputs, float* packed) const;
  std::int64_t offset(int group, int input) const;
  std::int64_t byte_of(int row, int input) const;

  const PanelKernels* kernels_ = nullptr;
  Precision precision_ = Precision::kFp32;
  int outputs_ = 0;
  int inputs_ = 0;
  int groups_ = 0;                ///< of kernels_->rows outputs
  int padded_inputs_ = 0;         ///< int8: a multiple of kernels_->depth; bf16: words of two
  int slice_ = 0;                 ///< inputs that are multiplied before the next are looked at
  int halves_ = 1;                ///< of a slice: 2 where pairs of panels are multiplied by halves
  std::vector<float> bias_;       ///< padded to whole groups
  AlignedBuffer<float> weights_;  ///< fp32
  AlignedBuffer<std::uint32_t> pairs_;     ///< bf16
  AlignedBuffer<std::uint8_t> bytes_;      ///< int8
  std::vector<float> scales_;              ///< int8: of each output
  std::vector<std::int32_t> weight_sums_;  ///< int8: of each output's quantised weights
  std::vector<int> outlying_;              ///< int8: inputs whose weights stay float32
  std::vector<float> outlying_weights_;    ///< [outlying][output]
};

}  // namespace ria
