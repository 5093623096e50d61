// SPDX-License-Identifier: MIT
// Included by one source file for each kind of CPU, which says how wide its vectors are (RIA_WIDTH
// floats) and how many outputs a tile has (RIA_ROWS). Everything here has internal linkage and no
// inline function of the standard library is used: code compiled for a newer CPU must not be picked
// by the linker for all.
#include "nn/panel_bf16.h"
#include "nn/panel_float.h"
#include "nn/panel_int8.h"
#include "nn/panel_int8_attention.h"
#include "nn/panel_nearest.h"

namespace ria {
namespace {

constexpr PanelKernels make_kernels(const char* name) {
  return {name,
          kLanes,
          kWidth,
          kRows,
          kDepth,
          kWeightLevels,
          kKeyPanels * kLanes * kLanes,
          product,
          normalize,
          gate,
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
          nearest};
}

}  // namespace
}  // namespace ria
