// SPDX-License-Identifier: MIT
// 3x3 convolutions with fewer multiplications than the definition takes (Lavin and Gray 2016). A
// tile of the result is A^T [ (G g G^T) . (B^T d B) ] A, summed over the channels in the middle,
// which makes it one matrix product for each position of the transformed tile.
#pragma once

#include <cstdint>

#include "nn/conv_net.h"
#include "nn/panel_kernels.h"
#include "nn/winograd_kernels.h"
#include "util/aligned.h"

namespace ria {

/// Of one layer, shared by all sizes and threads: [panel of outputs][position][input][lane].
class WinogradWeights {
 public:
  /// The layer must be one that fits(); it is referred to.
  WinogradWeights(const Convolution& conv, const WinogradKernels& kernels);
  explicit WinogradWeights(const Convolution& conv) : WinogradWeights(conv, best_kernels(conv)) {}

  /// Whether the layer is a 3x3 convolution of stride 1 with enough channels, and this CPU has the
  /// kernels.
  static bool fits(const Convolution& conv);
  static const WinogradKernels& best_kernels(const Convolution& conv);

 private:
  friend class WinogradLayer;

  void pack(int out, float* lane) const;

  const Convolution& conv_;
  const WinogradKernels& kernels_;
  const PanelKernels& products_;
  AlignedBuffer<float> values_;
};

/// How a tensor of the layer lies in memory: eight channels together, blocks of eight anywhere.
struct WinogradLayout {
  std::int64_t pixel;  ///< floats from a pixel to the next of its row
  std::int64_t block;  ///< floats from a block of channels to the next
};

/// One layer for one input size and number of threads.
class WinogradLayer {
 public:
  WinogradLayer(const WinogradWeights& weights,
                int height,
                int width,
                WinogradLayout source,
                WinogradLayout target,
                int threads);

  /// Bytes run() needs to work in, aligned to a cache line.
  std::size_t scratch_size() const;

  /// With `residual`, adds to what the target holds. The same bits for any number of threads.
  void run(const float* source, float* target, bool residual, bool relu, float* scratch) const;

 private:
  /// What a thread works on and in.
  struct Task {
    const float* source;
    float* target;
    bool residual, relu;
    float* inputs;    ///< transformed: [position][group][input][tile]
    float* products;  ///< of one panel: [position][tile][lane]
  };

  /// Transforms groups of tiles, counted from tile `first` on.
  void transform(const Task& task, int first, int begin, int end) const;
  /// The results of `groups` groups of tiles, [panel][group], from `begin` to `end`.
  void multiply(const Task& task, int first, int groups, int begin, int end) const;
  void multiply_panel(const Task& task, int panel, int group, int count) const;

  const WinogradWeights& weights_;
  WinogradLayout source_layout_, target_layout_;
  WinogradPlane source_, target_;
  int tiles_;
  int threads_;
  bool shared_;  ///< all threads work on the same tiles, each on outputs of its own
  int chunk_;    ///< tiles that are transformed before they are multiplied
  std::int64_t input_stride_, product_stride_;  ///< floats from a position to the next
};

}  // namespace ria
