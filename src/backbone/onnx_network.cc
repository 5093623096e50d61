// SPDX-License-Identifier: MIT
#include "backbone/onnx_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <locale>
#include <sstream>
#include <stdexcept>

#include "ria/eigen.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

constexpr int kMostLeadingTokens = 16;

struct NamedNormalization {
  const char* name;
  Normalization normalization;
  std::array<float, 3> mean, deviation;
};
constexpr NamedNormalization kNormalizations[] = {
    {"imagenet", Normalization::kImagenet, {}, {1, 1, 1}},
    {"unit", Normalization::kStandard, {}, {1, 1, 1}},
    {"signed", Normalization::kStandard, {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}},
    {"clip",
     Normalization::kStandard,
     {0.48145466f, 0.4578275f, 0.40821073f},
     {0.26862954f, 0.26130258f, 0.27577711f}},
    {"caffe", Normalization::kCaffe, {}, {1, 1, 1}},
    {"raw", Normalization::kRaw, {}, {1, 1, 1}},
};

/// The six numbers of a text, with blanks between them.
bool parse_numbers(const std::string& text, NamedNormalization& to) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  for (float& value : to.mean) in >> value;
  for (float& value : to.deviation) in >> value;
  return in && (in >> std::ws).eof() &&
         std::all_of(to.deviation.begin(), to.deviation.end(), [](float v) { return v > 0; });
}

NamedNormalization parse_normalization(const std::string& text) {
  std::vector<std::string> names;
  for (const NamedNormalization& known : kNormalizations) {
    if (text.empty() || text == known.name) return known;
    names.emplace_back(known.name);
  }
  NamedNormalization numbers{"", Normalization::kStandard, {}, {}};
  if (parse_numbers(text, numbers)) return numbers;
  throw std::invalid_argument(fmt::format(
      "onnx_normalization is '{}', {} or six numbers (means and deviations) were expected",
      text,
      fmt::join(names, ", ")));
}

/// A whole number of the file's metadata.
int parse_number(const std::string& file, const std::string& key, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  throw std::runtime_error(
      fmt::format("{}: its {} is '{}', a whole number was expected", file, key, text));
}

/// What the caller left open, as the file's metadata say.
void adopt_metadata(OnnxNetwork& network, const OnnxDescription& description) {
  OnnxOptions& o = network.options;
  const auto said = [&](const char* key, bool open, auto use) {
    const auto found = description.metadata.find(key);
    if (open && found != description.metadata.end()) use(found->second);
  };
  const auto text = [](std::string& field) {
    return [&](const std::string& value) { field = value; };
  };
  said("onnx_output", o.onnx_output.empty(), text(o.onnx_output));
  said("onnx_layout", o.onnx_layout.empty(), text(o.onnx_layout));
  said("onnx_normalization", o.onnx_normalization.empty(), text(o.onnx_normalization));
  said("onnx_leading_tokens", !o.onnx_leading_tokens, [&](const std::string& value) {
    o.onnx_leading_tokens = parse_number(network.file, "onnx_leading_tokens", value);
  });
  said("onnx_multiple", o.onnx_multiple == 0, [&](const std::string& value) {
    o.onnx_multiple = parse_number(network.file, "onnx_multiple", value);
  });
  o.validate();
}

std::string listed(const std::vector<OnnxTensor>& tensors) {
  std::vector<std::string> names;
  for (const OnnxTensor& t : tensors) {
    names.push_back(fmt::format("{} {}", t.name, shape_text(t.shape)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_type(const OnnxNetwork& network, const char* what, const OnnxTensor& tensor) {
  if (tensor.type == "float32") return;
  throw std::runtime_error(fmt::format(
      "{}: {} {} is of {}, float32 was expected", network.file, what, tensor.name, tensor.type));
}

bool may_be(std::int64_t side, std::int64_t expected) { return side == expected || side < 0; }

/// One input, a picture; the layout follows from where its 3 channels are.
void read_input(OnnxNetwork& network, const OnnxDescription& description) {
  if (description.inputs.size() != 1) {
    throw std::runtime_error(fmt::format("{} has {} inputs ({}), one picture was expected",
                                         network.file,
                                         description.inputs.size(),
                                         listed(description.inputs)));
  }
  const OnnxTensor& input = network.input = description.inputs.front();
  check_type(network, "input", input);
  const auto& shape = input.shape;
  const std::string& layout = network.options.onnx_layout;
  const bool picture = shape.size() == 4 && may_be(shape[0], 1);
  const bool first = picture && may_be(shape[1], 3) && layout != "nhwc";
  const bool last = picture && may_be(shape[3], 3) && layout != "nchw";
  if (!first && !last) {
    throw std::runtime_error(fmt::format("{}: input {} has the shape {}, a picture {} was expected",
                                         network.file,
                                         input.name,
                                         shape_text(shape),
                                         layout == "nchw"   ? "[1,3,H,W]"
                                         : layout == "nhwc" ? "[1,H,W,3]"
                                                            : "[1,3,H,W] or [1,H,W,3]"));
  }
  // An axis that is 3 says more than one that is open.
  if (first && last && (shape[1] == 3) == (shape[3] == 3)) {
    throw std::invalid_argument(
        fmt::format("{}: input {} has the shape {}: onnx_layout nchw or nhwc must be told",
                    network.file,
                    input.name,
                    shape_text(shape)));
  }
  network.channels_last = last && (!first || shape[3] == 3);
  const int rows = network.channels_last ? 1 : 2;
  network.height = static_cast<int>(std::max<std::int64_t>(shape[rows], 0));
  network.width = static_cast<int>(std::max<std::int64_t>(shape[rows + 1], 0));
}

void read_output(OnnxNetwork& network, const OnnxDescription& description) {
  const std::string& name = network.options.onnx_output;
  if (name.empty() && description.outputs.size() != 1) {
    throw std::invalid_argument(fmt::format("{} has {} outputs ({}): onnx_output must name one",
                                            network.file,
                                            description.outputs.size(),
                                            listed(description.outputs)));
  }
  std::vector<std::string> known;
  const OnnxTensor* found = nullptr;
  for (const OnnxTensor& output : description.outputs) {
    if (name.empty() || output.name == name) found = &output;
    known.push_back(output.name);
  }
  if (found == nullptr) {
    throw std::invalid_argument(network.file + ": " + unknown_name("onnx_output", name, known));
  }
  network.output = *found;
  check_type(network, "output", network.output);
}

struct Grid {
  int height = 0, width = 0;
};

/// Patches of one side cover the picture, whole (`exact`) or but for a border.
std::optional<Grid> square_grid(int patches, int height, int width, bool exact) {
  for (int side = 1; side <= std::min(height, width); ++side) {
    if (exact && (height % side != 0 || width % side != 0)) continue;
    const Grid grid{height / side, width / side};
    if (static_cast<std::int64_t>(grid.height) * grid.width == patches) return grid;
  }
  return std::nullopt;
}

/// Rows of a feature map that keeps its channels first.
void transpose(const float* values, Matrix& patches) {
  const Eigen::Map<const EigenMatrix> planes(values, patches.cols(), patches.rows());
  as_eigen(patches) = planes.transpose();
}

}  // namespace

void OnnxOptions::validate() const {
  if (!onnx_layout.empty() && onnx_layout != "nchw" && onnx_layout != "nhwc") {
    throw std::invalid_argument(unknown_name("onnx_layout", onnx_layout, {"nchw", "nhwc"}));
  }
  parse_normalization(onnx_normalization);
  if (onnx_leading_tokens.value_or(0) < 0) {
    throw std::invalid_argument(
        fmt::format("onnx_leading_tokens is {}, 0 or more was expected", *onnx_leading_tokens));
  }
  if (onnx_multiple < 0) {
    throw std::invalid_argument(
        fmt::format("onnx_multiple is {}, 0 (any size) or more was expected", onnx_multiple));
  }
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::vector<std::string> sides;
  for (const std::int64_t side : shape) sides.push_back(side < 0 ? "?" : std::to_string(side));
  return fmt::format("[{}]", fmt::join(sides, ","));
}

std::optional<int> leading_tokens(int tokens, int height, int width) {
  for (int leading = 0; leading <= std::min(kMostLeadingTokens, tokens - 1); ++leading) {
    if (square_grid(tokens - leading, height, width, true)) return leading;
  }
  return std::nullopt;
}

int OnnxNetwork::dim(std::span<const std::int64_t> shape) const {
  if (shape.size() < 2 || shape.size() > 4 || !may_be(shape[0], 1)) {
    throw std::runtime_error(
        fmt::format("{}: output {} has the shape {}, patch features [1,N,D], [1,C,H,W] or a "
                    "descriptor [1,D] were expected",
                    file,
                    output.name,
                    shape_text(shape)));
  }
  const bool planes = shape.size() == 4 && !channels_last;
  return static_cast<int>(std::max<std::int64_t>(planes ? shape[1] : shape.back(), 0));
}

bool OnnxNetwork::is_global(std::span<const std::int64_t> shape) const {
  if (shape.size() != 4) return shape.size() == 2;
  return channels_last ? shape[1] == 1 && shape[2] == 1 : shape[2] == 1 && shape[3] == 1;
}

PatchFeatures OnnxNetwork::features(std::span<const std::int64_t> shape,
                                    const float* values,
                                    int picture_height,
                                    int picture_width) const {
  const int columns = dim(shape);
  std::int64_t rows = 1;
  for (const std::int64_t side : shape) rows *= side;
  rows = columns > 0 ? rows / columns : 0;
  const int leading = shape.size() == 3 ? options.onnx_leading_tokens.value_or(0) : 0;
  if (rows <= leading) {
    throw std::runtime_error(
        fmt::format("{}: output {} has the shape {}, no patches behind {} "
                    "leading tokens",
                    file,
                    output.name,
                    shape_text(shape),
                    leading));
  }
  const int patches = static_cast<int>(rows) - leading;
  PatchFeatures result{Matrix(patches, columns), 1, patches, {}};
  if (shape.size() == 4) {
    result.grid_height = static_cast<int>(shape[channels_last ? 1 : 2]);
    result.grid_width = static_cast<int>(shape[channels_last ? 2 : 3]);
    if (!channels_last) {
      transpose(values, result.patches);
      return result;
    }
  } else if (shape.size() == 3) {
    auto grid = square_grid(patches, picture_height, picture_width, true);
    if (!grid) grid = square_grid(patches, picture_height, picture_width, false);
    if (grid) std::tie(result.grid_height, result.grid_width) = std::tie(grid->height, grid->width);
    if (leading > 0) result.class_token.assign(values, values + columns);
  }
  const float* first = values + static_cast<std::size_t>(leading) * columns;
  std::copy_n(first, result.patches.size(), result.patches.data());
  return result;
}

OnnxNetwork read_onnx_network(const std::string& file,
                              const OnnxDescription& description,
                              const OnnxOptions& options) {
  OnnxNetwork network;
  network.file = file;
  network.options = options;
  adopt_metadata(network, description);
  read_input(network, description);
  read_output(network, description);
  const NamedNormalization normalization = parse_normalization(network.options.onnx_normalization);
  Preprocessing& pre = network.preprocessing;
  pre.normalization = normalization.normalization;
  pre.mean = normalization.mean;
  pre.deviation = normalization.deviation;
  pre.multiple = std::max(network.options.onnx_multiple, 1);
  if (network.height > 0 && network.width > 0) {
    pre.height = network.height;
    pre.width = network.width;
  }
  return network;
}

}  // namespace ria
