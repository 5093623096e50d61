// SPDX-License-Identifier: MIT
// Vision transformers (DINO, DINOv2) under the names of their published code.
#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace ria {

/// Published name -> name in the file, for a transformer stored under the published or the Hugging
/// Face names behind any known prefix; empty if the file holds none. Hugging Face keeps queries,
/// keys and values apart: they are called blocks.N.attn.q, .k and .v here.
std::map<std::string, std::string> canonical_vit_names(const TensorFile& file);

/// What was trained beside the network's own layers, and where it stands.
enum class VitAdapters {
  kNone,
  kSerial,      ///< blocks.N.adapter1 behind attention, adapter2 beside the MLP: SelaVPR
  kMultiScale,  ///< blocks.N.adapter with convolutions beside the MLP: CricaVPR
  kSide,        ///< adapters.N on a path beside the blocks: EDTformer
};

/// What the shapes say. Heads have 64 channels in every published model and no file says otherwise.
struct VitShape {
  int dim = 0;
  int depth = 0;
  int heads = 0;
  int patch = 0;
  int grid = 0;  ///< side of the table of positions
  int registers = 0;
  int hidden = 0;
  bool gated = false;        ///< SwiGLU
  bool layer_scale = false;  ///< DINOv2 has it, DINO has not
  VitAdapters adapters = VitAdapters::kNone;
  int adapter = 0;  ///< inner width of the adapters; 0: none
};

/// Throws std::runtime_error naming what is missing or of another shape than expected.
VitShape vit_shape(const TensorFile& file, const std::map<std::string, std::string>& names);

/// "dinov2-vitb14", "dinov2-vitg14-reg", "dino-vits8" ..., "dinov2" or "dino" for other sizes;
/// adapters change nothing.
std::string vit_architecture(const VitShape& shape);

}  // namespace ria
