// SPDX-License-Identifier: MIT
// 3x3 convolutions with fewer multiplications than the definition takes (Lavin and Gray 2016). A
// tile of the result is A^T [ (G g G^T) . (B^T d B) ] A, summed over the channels in the middle,
// which makes it one matrix product for each position of the transformed tile.
#pragma once

#include <cstdint>

#include "kernel/panel_kernels.h"
#include "nn/conv_net.h"
#include "util/aligned.h"

namespace ria {

inline int winograd_positions(const WinogradKernels& transforms) {
  return (transforms.tile_rows + 2) * (transforms.tile_columns + 2);
}

/// The tile with which the layer is faster than by oneDNN, for pictures of this size; none if it is
/// not, or no 3x3 convolution of stride 1 whose channels fill whole vectors. A rule of shapes and
/// of the kind of CPU alone, so that results are the same from run to run and for any threads.
const WinogradKernels* choose_winograd(const Convolution& conv,
                                       int height,
                                       int width,
                                       const PanelKernels& kernels = *panel_kernels().front());

/// What the rule compares: estimated cycles of one core.
double direct_cycles(const Convolution& conv, int height, int width, const PanelKernels& kernels);
double winograd_cycles(const Convolution& conv,
                       int height,
                       int width,
                       const PanelKernels& kernels,
                       const WinogradKernels& transforms);

/// Of one layer and one tile, shared by all sizes and threads: [panel of outputs][position][input]
/// [lane]. The values follow from the layer, the tile and the kernels' width.
class WinogradWeights {
 public:
  /// The layer must be one for which there is a choice; it is referred to. `transforms` are of the
  /// kernels.
  WinogradWeights(const Convolution& conv,
                  const PanelKernels& kernels,
                  const WinogradKernels& transforms);

 private:
  friend class WinogradLayer;

  int positions() const { return winograd_positions(transforms_); }

  const Convolution& conv_;
  const PanelKernels& kernels_;
  const WinogradKernels& transforms_;
  AlignedBuffer<float> values_;
};

/// One layer for one input size and number of threads.
class WinogradLayer {
 public:
  /// `source` and `target` are of one size; they say how many channels lie together.
  WinogradLayer(const WinogradWeights& weights,
                const WinogradTensor& source,
                const WinogradTensor& target,
                int threads);

  /// Bytes run() needs to work in, aligned to a cache line.
  std::size_t scratch_size() const;

  /// With `residual`, adds to what the target holds. The same bits for any number of threads.
  void run(const float* source, float* target, bool residual, bool relu, float* scratch) const;

 private:
  /// What a thread works on and in.
  struct Task {
    const float* source;
    WinogradResult result;
    float* inputs;    ///< transformed: [position][tile][input]
    float* products;  ///< of one panel: [position][tile][lane]
  };

  /// Transforms groups of tiles, counted from tile `first` on.
  void transform(const Task& task, int first, int begin, int end) const;
  /// The results of `groups` groups of tiles, [panel][group], from `begin` to `end`.
  void multiply(const Task& task, int first, int groups, int begin, int end) const;
  void multiply_panel(const Task& task, int panel, int group, int count) const;
  void finish_panel(const Task& task, int panel, int first, int count) const;

  const WinogradWeights& weights_;
  WinogradTensor source_, target_;
  int tiles_x_, tiles_;
  int threads_;
  bool shared_;  ///< all threads work on the same tiles, each on outputs of its own
  int chunk_;    ///< tiles that are transformed before they are multiplied
  std::int64_t input_stride_, product_stride_;  ///< floats from a position to the next
};

}  // namespace ria
