// SPDX-License-Identifier: MIT
#include "weights/vgg_files.h"

#include "weights/keras_vgg.h"
#include "weights/matconvnet_vgg.h"

namespace ria {

TensorFile torchvision_vgg(const TensorFile& file) {
  if (is_keras_vgg(file)) return convert_keras_vgg(file);
  if (is_matconvnet_vgg(file)) return convert_matconvnet_vgg(file);
  return file;
}

}  // namespace ria
