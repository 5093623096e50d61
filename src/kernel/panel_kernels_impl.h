// SPDX-License-Identifier: MIT
// Included by one source file for each kind of CPU, which says how wide its vectors are (RIA_WIDTH
// floats) and how many outputs a tile has (RIA_ROWS). Everything here has internal linkage and no
// inline function of the standard library is used: code compiled for a newer CPU must not be picked
// by the linker for all.
#include "kernel/panel_bf16.h"
#include "kernel/panel_bits.h"
#include "kernel/panel_float.h"
#include "kernel/panel_int8.h"
#include "kernel/panel_int8_attention.h"
#include "kernel/panel_nearest.h"
#include "kernel/panel_strassen.h"
#include "kernel/panel_winograd.h"

namespace ria {
namespace {

constexpr PanelKernels make_kernels(const char* name) {
  return {name,
          kLanes,
          kWidth,
          kRows,
          kFewTokens,
          kFused,
          kDepth,
          kWeightLevels,
          kKeyPanels * kLanes * kLanes,
          product,
          product_rows,
          strassen_inputs,
          strassen_weights,
          strassen,
          normalize,
          gate,
          softmax_row,
          attention,
          round_bf16,
          product_bf16,
          find_outliers,
          quantize,
          product_int8,
          dequantize,
          quantize_keys,
          quantize_values,
          attention_int8,
          nearest,
          nearest_bits,
          row_distances,
          weighted_sum,
          make_winograd<2, 4>(),
          make_winograd<4, 4>()};
}

}  // namespace
}  // namespace ria
