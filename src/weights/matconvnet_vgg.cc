// SPDX-License-Identifier: MIT
#include "weights/matconvnet_vgg.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "weights/keras.h"
#include "weights/vgg_names.h"

namespace ria {

namespace {

constexpr std::string_view kLayers = "net.layers.";
constexpr std::string_view kKernel = ".weights.0";
constexpr char kPicture[] = "net.meta.normalization.averageImage";

std::string weights_of(int layer) { return fmt::format("{}{}.weights", kLayers, layer); }

bool is_convolution(const Tensor& tensor) {
  return tensor.shape.size() == 4 && tensor.shape[0] == 3 && tensor.shape[1] == 3;
}

/// Layers with weights, by number; true: a convolution of the VGG.
std::map<int, bool> layers_of(const TensorFile& file) {
  std::map<int, bool> layers;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.starts_with(kLayers) || !name.ends_with(kKernel)) continue;
    int number = 0;
    const char* end = name.data() + name.size() - kKernel.size();
    const auto parsed = std::from_chars(name.data() + kLayers.size(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0) {
      layers[number] = is_convolution(tensor);
    }
  }
  return layers;
}

/// Empty if the file does not say: that is an error only where pictures are to be read.
std::string mean_of(const TensorFile& file) {
  if (!file.contains(kPicture)) return "";
  const Tensor& picture = file.at(kPicture);
  if (picture.shape.empty() || picture.shape.back() != 3 || picture.size() == 0) return "";
  const std::vector<float> values = picture.floats();
  return fmt::format("{} {} {}", values[0], values[1], values[2]);
}

}  // namespace

bool is_matconvnet_vgg(const TensorFile& file) {
  const std::map<int, bool> layers = layers_of(file);
  return !layers.empty() && layers.begin()->first == 0 && layers.begin()->second;
}

TensorFile convert_matconvnet_vgg(const TensorFile& file) {
  TensorMap tensors;
  for (const auto& [layer, convolution] : layers_of(file)) {
    if (!convolution) break;  // the head's
    const std::string from = weights_of(layer), to = fmt::format("features.{}.", layer);
    tensors[to + "weight"] = keras_kernel_to_oihw(file, from + ".0");
    tensors[to + "bias"] = file.at(from + ".1");
  }
  TensorFile converted(file.path(), file.format(), std::move(tensors));
  Metadata metadata{{"normalization", "minus_mean"},
                    {"mean", mean_of(file)},
                    {"source", "MatConvNet"},
                    {"architecture", vgg_name(vgg_convolutions(converted))}};
  return {file.path(), file.format(), std::move(converted).tensors(), std::move(metadata)};
}

std::optional<MatconvnetHead> matconvnet_head(const TensorFile& file) {
  if (!is_matconvnet_vgg(file)) return std::nullopt;
  std::optional<MatconvnetHead> head;
  for (const auto& [layer, convolution] : layers_of(file)) {
    if (convolution) continue;
    if (!head) {
      head = MatconvnetHead{weights_of(layer), ""};
    } else if (head->whitening.empty()) {
      head->whitening = weights_of(layer);
    }
  }
  return head;
}

}  // namespace ria
