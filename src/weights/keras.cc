// SPDX-License-Identifier: MIT
#include "weights/keras.h"

#include "archive/bytes.h"

namespace ria {

std::pair<std::string, std::string> split_keras_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {name, ""};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

Tensor keras_kernel_to_oihw(const TensorFile& file, const std::string& name) {
  const Tensor& kernel = file.at(name);
  if (kernel.shape.size() != 4) throw read_error(file.path(), name + " is not a 4-D kernel");
  const auto height = static_cast<std::size_t>(kernel.shape[0]);
  const auto width = static_cast<std::size_t>(kernel.shape[1]);
  const auto in = static_cast<std::size_t>(kernel.shape[2]);
  const auto out = static_cast<std::size_t>(kernel.shape[3]);
  const std::vector<float> from = kernel.floats();
  std::vector<float> to(from.size());
  for (std::size_t pixel = 0; pixel < height * width; ++pixel) {
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        to[(o * in + i) * height * width + pixel] = from[(pixel * in + i) * out + o];
      }
    }
  }
  return make_tensor({kernel.shape[3], kernel.shape[2], kernel.shape[0], kernel.shape[1]}, to);
}

std::string keras_source(const TensorFile& file) {
  std::string source = "tfjs layers model";
  for (const char* key : {"generatedBy", "convertedBy"}) {
    const auto found = file.metadata().find(key);
    if (found != file.metadata().end()) source += ", " + found->second;
  }
  return source;
}

}  // namespace ria
