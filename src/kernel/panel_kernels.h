// SPDX-License-Identifier: MIT
// The inner loops of a transformer, compiled once for each kind of CPU.
//
// Tokens are lanes. Activations are kept in panels of `lanes` tokens, [panel][channel][lane], so
// that every row of a panel is a few vectors wide: a product multiplies a broadcast weight with
// such rows and writes rows the next layer reads as they are; norms, softmax and quantisation run
// down the lanes. Nothing is ever packed, transposed or reduced across a vector on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/winograd_kernels.h"

namespace ria {

/// How the tokens of one panel were brought to 8 bits: x = scale (q - zero).
struct LaneScales {
  float* scale;        ///< lanes
  std::int32_t* zero;  ///< lanes
  std::int32_t* sum;   ///< lanes: sum of q over the channels
};

enum class Activation { kNone, kGelu, kRelu };

/// What is done with a sum before it is stored.
struct Finish {
  const float* bias = nullptr;  ///< one value an output, or none
  bool accumulate = false;      ///< add to what is there
  Activation activation = Activation::kNone;
};

/// Two panels by two groups of outputs and 2k inputs: four products of halves by halves in seven
/// eighths of the multiplications (Strassen's, as Winograd put it). Sums of weights are made on the
/// way, for the groups that are next.
struct StrassenTask {
  const float* weights;      ///< [2 groups][2k][row]
  const float* weight_sums;  ///< of strassen_weights
  const float* x[2];         ///< [2k][lane]
  const float* sums;         ///< of strassen_inputs
  int k;                     ///< even
  int tokens;                ///< lanes that count, in both panels
  float* y[2];               ///< [2 groups][row][lane]
  Finish finish;
  const float* next_weights;  ///< nullptr: none
  float* next_sums;           ///< where their sums are to be
};

/// One head: some panels of queries against all keys. A block of keys meets all of the queries
/// before the next is read.
struct AttentionTask {
  const float* query;  ///< head's rows of the first query panel, scaled by log2(e) / sqrt(head)
  const float* key;    ///< head's rows of the first key panel
  const float* value;  ///< likewise
  std::int64_t panel_stride;  ///< floats from a panel to the next
  int queries;                ///< panels, at most kMostQueryPanels
  int keys;                   ///< tokens
  int head;                   ///< channels of a head, a multiple of `rows`
  float* out;                 ///< head's rows of the first output panel
  std::int64_t out_stride;
  float* scratch;  ///< attention_scratch floats
};
constexpr int kMostQueryPanels = 4;

/// The same with keys and values in integers, each token with its own scale.
struct IntegerAttentionTask {
  const float* query;
  std::int64_t query_stride;
  const std::uint8_t* key;    ///< [panel][head / 4][lane][4], see quantize_keys
  const std::int16_t* value;  ///< [panel][head][lane]
  const float* key_scale;     ///< of each token
  const float* value_scale;   ///< of each token
  int queries;
  int keys;
  int head;  ///< a multiple of 8
  float* out;
  std::int64_t out_stride;
  float* scratch;
};

/// Some rows against one panel: the largest product of each row and of each lane so far, and where
/// it was. Of equal products the first counts.
struct NearestTask {
  const float* rows;   ///< `count` rows of k values
  const float* panel;  ///< [k][lane], 64-byte aligned
  int count;
  int k;
  int first_row;   ///< number of the first row
  int first_lane;  ///< number of the first lane
  /// `width` partial results a row, for `count` rounded up to `rows`.
  float* row_best;
  std::int32_t* row_index;
  float* column_best;  ///< one a lane
  std::int32_t* column_index;
};

/// Some rows of bits against one panel of them: the fewest bits in which each row and each lane
/// differs so far, and from which. Both are one number, the distance times 65536 plus the number of
/// the lane or row: of equals the first counts.
struct NearestBitsTask {
  const std::uint8_t* rows;    ///< `count` rows of `words` words of 32 bits, anywhere
  const std::uint32_t* panel;  ///< [words][lane], 64-byte aligned
  int count;                   ///< at most 65536
  int words;                   ///< at most 1023
  int first_lane;              ///< number of the first lane
  std::int32_t* row_best;      ///< `width` partial results a row
  std::int32_t* column_best;   ///< one a lane
};

struct PanelKernels {
  const char* name;
  int lanes;              ///< tokens of a panel
  int width;              ///< floats of a vector
  int rows;               ///< outputs that packed weights keep together
  int few_tokens;         ///< so many tokens of a vector take product() little time
  bool fused;             ///< multiplies and adds in one instruction
  int depth;              ///< int8: inputs taken together; packed inputs are padded to a multiple
  int weight_levels;      ///< int8: largest magnitude of a weight
  int attention_scratch;  ///< floats an attention task needs

  /// y[r][lane] = finish(sum_k w[r][k] x[k][lane]) for `groups` groups of `rows` outputs. Weights
  /// are [group][k][row], `stride` floats from group to group; only the first `tokens` lanes count.
  void (*product)(const float* weights,
                  std::int64_t stride,
                  int groups,
                  const float* x,
                  int k,
                  int tokens,
                  float* y,
                  const Finish& finish);
  /// product() of weights that lie row by row, `stride` floats from one to the next.
  void (*product_rows)(const float* rows,
                       std::int64_t stride,
                       int groups,
                       const float* x,
                       int k,
                       int tokens,
                       float* y,
                       const Finish& finish);
  /// Sums of the halves of two panels, 2k inputs each: [4][k][lane].
  void (*strassen_inputs)(const float* first, const float* second, int k, int tokens, float* sums);
  /// Sums of the halves of two groups of weights, 2k inputs each: [4][k][row].
  void (*strassen_weights)(const float* weights, int k, float* sums);
  /// product() of two panels with two groups of weights.
  void (*strassen)(const StrassenTask& task);
  /// (x - mean) / sqrt(variance + eps) down the first `tokens` lanes, and what is left of a vector.
  void (*normalize)(const float* x, int channels, float eps, int tokens, float* y);
  /// y = silu(a) b
  void (*gate)(const float* a, const float* b, int channels, float* y);
  /// Turns the scores of a row into exp(scale (score - largest)) and returns their sum; scale and
  /// count are above 0.
  float (*softmax_row)(float* row, std::int64_t count, float scale);
  /// softmax(q k^T) v
  void (*attention)(const AttentionTask& task);

  /// Rounds rows to bfloat16, two channels a word: [channels / 2][lane], an odd last one with zero.
  void (*round_bf16)(const float* x, int channels, std::uint32_t* pairs);
  /// product() of words of two bfloat16 numbers, sums in float32; k counts words. CPUs without such
  /// instructions unpack them.
  void (*product_bf16)(const std::uint32_t* weights,
                       std::int64_t stride,
                       int groups,
                       const std::uint32_t* x,
                       int k,
                       int tokens,
                       float* y,
                       const Finish& finish);

  /// Lists the channels that have a value beyond `limit` times its lane's root mean square; more
  /// than `room` of them are counted, not listed.
  int (*find_outliers)(const float* x, int channels, float limit, int* list, int room);
  /// 8 bits a value, [channels / 4][lane][4], zero bytes up to a multiple of `depth` channels.
  void (*quantize)(const float* x, int channels, std::int8_t* q, const LaneScales& scales);
  /// Integer sums of packed weights [group][k / depth][depth / 4][row][4], which are offset by
  /// weight_levels to be unsigned.
  void (*product_int8)(const std::uint8_t* weights,
                       std::int64_t stride,
                       int groups,
                       const std::int8_t* x,
                       int k,
                       int tokens,
                       std::int32_t* sums);
  /// y = finish(what the sums stand for)
  void (*dequantize)(const std::int32_t* sums,
                     int rows,
                     const float* weight_scale,
                     const std::int32_t* weight_sum,
                     const LaneScales& scales,
                     float* y,
                     const Finish& finish);
  /// A head's keys and values of one panel for attention_int8; scales are one a lane.
  void (*quantize_keys)(const float* key, int head, std::uint8_t* q, float* scale);
  void (*quantize_values)(const float* value, int head, std::int16_t* q, float* scale);
  void (*attention_int8)(const IntegerAttentionTask& task);

  /// Largest products, see NearestTask.
  void (*nearest)(const NearestTask& task);
  /// Least distances, see NearestBitsTask.
  void (*nearest_bits)(const NearestBitsTask& task);
  /// In how many bits each of `count` rows of `words` words differs from its counterpart in b.
  void (*row_distances)(
      const std::uint8_t* a, const std::uint8_t* b, int count, int words, std::int32_t* distances);
  /// sums[i] = weights[0] x[i] + weights[1] x[i + stride] + ... for i in [0, count) rounded up to
  /// `width`, which must be there to be read and written.
  void (*weighted_sum)(
      const float* x, std::int64_t stride, const float* weights, int taps, int count, float* sums);

  WinogradKernels winograd_2x4, winograd_4x4;
};

/// All this CPU runs, best first.
const std::vector<const PanelKernels*>& panel_kernels();

}  // namespace ria
