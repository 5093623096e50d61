// SPDX-License-Identifier: MIT
#include "weights/vgg_files.h"

#include "weights/keras_vgg.h"
#include "weights/matconvnet_vgg.h"

namespace ria {

namespace {

/// SFRS (OpenIBL) reads pixels in 0..255 less the mean of its training pictures, which its file
/// does not say: 0.48501960784, 0.45795686275 and 0.40760392157 of 255.
bool is_sfrs(const TensorFile& file) {
  return file.contains("base_model.base.0.weight") && file.contains("net_vlad.centroids");
}

}  // namespace

TensorFile torchvision_vgg(const TensorFile& file) {
  if (is_keras_vgg(file)) return convert_keras_vgg(file);
  if (is_matconvnet_vgg(file)) return convert_matconvnet_vgg(file);
  if (is_sfrs(file)) {
    Metadata metadata = file.metadata();
    metadata["normalization"] = "minus_mean";
    metadata["mean"] = "123.68 116.779 103.939";
    return {file.path(), file.format(), file.tensors(), std::move(metadata)};
  }
  return file;
}

}  // namespace ria
