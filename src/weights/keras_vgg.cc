// SPDX-License-Identifier: MIT
#include "weights/keras_vgg.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "archive/bytes.h"
#include "weights/keras.h"
#include "weights/vgg_names.h"

namespace ria {

namespace {

using Place = std::pair<int, int>;  // "block5_conv3": block 5, convolution 3

std::optional<Place> parse_layer(std::string_view name) {
  const auto number = [&](std::string_view word) {
    int value = 0;
    if (!name.starts_with(word)) return 0;
    name.remove_prefix(word.size());
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), value);
    if (parsed.ec != std::errc()) return 0;
    name.remove_prefix(static_cast<std::size_t>(parsed.ptr - name.data()));
    return value;
  };
  const int block = number("block");
  const int convolution = number("_conv");
  if (block < 1 || convolution < 1 || !name.empty()) return std::nullopt;
  return Place{block, convolution};
}

bool is_classifier(std::string_view layer) {
  return layer.starts_with("fc") || layer == "predictions";
}

/// torchvision's number of each convolution: a ReLU behind each, a pool behind each block.
std::map<Place, int> modules_of(const TensorFile& file) {
  std::set<Place> places;
  for (const auto& [name, tensor] : file.tensors()) {
    if (const auto place = parse_layer(split_keras_name(name).first)) places.insert(*place);
  }
  std::map<Place, int> modules;
  int next = 0, block = 1;
  for (const Place& place : places) {
    if (place.first != block) ++next;
    block = place.first;
    modules[place] = next;
    next += 2;
  }
  return modules;
}

}  // namespace

bool is_keras_vgg(const TensorFile& file) {
  return file.contains("block1_conv1/kernel") && file.contains("block2_conv1/kernel");
}

std::map<std::string, std::string> keras_vgg_names(const TensorFile& file) {
  const std::map<Place, int> modules = modules_of(file);
  std::map<std::string, std::string> out;
  for (const auto& [name, tensor] : file.tensors()) {
    const auto [layer, variable] = split_keras_name(name);
    if (is_classifier(layer)) continue;
    const auto place = parse_layer(layer);
    if (!place || (variable != "kernel" && variable != "bias")) {
      throw read_error(file.path(),
                       fmt::format("tensor {} has no place in a Keras VGG", printable(name)));
    }
    out[fmt::format(
        "features.{}.{}", modules.at(*place), variable == "kernel" ? "weight" : "bias")] = name;
  }
  return out;
}

TensorFile convert_keras_vgg(const TensorFile& file) {
  TensorMap tensors;
  for (const auto& [canonical, name] : keras_vgg_names(file)) {
    tensors[canonical] =
        name.ends_with("/kernel") ? keras_kernel_to_oihw(file, name) : file.at(name);
  }
  Metadata metadata{{"normalization", "caffe"}, {"source", keras_source(file)}};
  TensorFile converted(file.path(), file.format(), std::move(tensors));
  metadata["architecture"] = vgg_name(vgg_convolutions(converted));
  return {file.path(), file.format(), converted.tensors(), std::move(metadata)};
}

}  // namespace ria
