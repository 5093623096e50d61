// SPDX-License-Identifier: MIT
// The tensors of a checkpoint, whichever form of torch.save it has.
#pragma once

#include <filesystem>
#include <memory>

#include "archive/bytes.h"
#include "archive/pickle.h"
#include "tensor/tensor.h"
#include "tensor/torch_tensor.h"

namespace ria {

/// The state dict of a checkpoint: its member state_dict, model_state_dict or model where that
/// holds tensors, else everything, nested names joined by dots. A bare tensor is named "tensor".
/// A member "pca" with whitenings as scikit-learn fits them gives pca.NAME.mean_ and so on; other
/// members are skipped. Throws std::runtime_error if there is no tensor.
TensorMap read_state_dict(const std::filesystem::path& file,
                          const std::shared_ptr<const MappedFile>& mapping,
                          const PickleValue& root,
                          const TorchStorages& storages);

}  // namespace ria
