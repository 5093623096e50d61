// SPDX-License-Identifier: MIT
// 8-bit transformers against float32 on the golden networks, as they are and with channels a
// hundred times larger than the rest, the way trained transformers have them.
#include <gtest/gtest.h>

#include "backbone/vit.h"
#include "golden/golden.h"
#include "golden/pixels.h"
#include "ria/aggregator.h"

namespace ria {
namespace {

/// Scales rows or columns of a stored tensor.
void scale(TensorMap& tensors, const std::string& name, int channel, float factor, bool column) {
  Tensor& tensor = tensors.at(name);
  std::vector<float> values = tensor.floats();
  const auto width = static_cast<std::size_t>(tensor.shape.back());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (static_cast<int>(column ? i % width : i) == channel) values[i] *= factor;
  }
  tensor = make_tensor(tensor.shape, values);
}

/// The same network with outlying channels: behind every norm two channels `factor` times as large,
/// which the layer behind takes back, and two channels of the residual stream far from zero, as the
/// published models have them.
TensorFile with_outliers(const TensorFile& file, const VitShape& shape, float factor) {
  TensorMap tensors = file.tensors();
  for (int block = 0; block < shape.depth; ++block) {
    const std::string name = "blocks." + std::to_string(block) + ".";
    const std::string up = shape.gated ? "mlp.w12.weight" : "mlp.fc1.weight";
    for (const int channel : {5, 40}) {
      for (const auto& [norm, layer] :
           {std::pair<std::string, std::string>{"norm1.", "attn.qkv.weight"}, {"norm2.", up}}) {
        scale(tensors, name + norm + "weight", channel, factor, false);
        scale(tensors, name + norm + "bias", channel, factor, false);
        scale(tensors, name + layer, channel, 1 / factor, true);
      }
    }
  }
  Tensor& positions = tensors.at("pos_embed");
  std::vector<float> values = positions.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % shape.dim == 17) values[i] += 0.3f * factor;
    if (i % shape.dim == 33) values[i] -= 0.5f * factor;
  }
  positions = make_tensor(positions.shape, values);
  return {file.path(), file.format(), std::move(tensors), file.metadata()};
}

double cosine(const Vector& a, const Vector& b) { return a.dot(b) / a.norm() / b.norm(); }

void check(const std::string& name, const TensorFile& weights, double least) {
  const TensorFile inputs = TensorFile::open(golden_dir() / name / "inputs.safetensors");
  const VitShape shape = vit_shape(weights, canonical_vit_names(weights));
  VitOutput output;
  output.blocks = shape.depth - 1;
  output.facet = Facet::kValue;
  output.position_rule = shape.registers > 0 ? PositionRule::kReg : PositionRule::kHub;
  const Vit exact(weights, output, Precision::kFp32), quick(weights, output, Precision::kInt8);
  const auto head = make_ria(exact.dim(), {.d = 32});
  for (const auto& [key, tensor] : inputs.tensors()) {
    SCOPED_TRACE(name + " " + key);
    const Pixels pixels = pixels_of(tensor);
    const int grid_height = exact.grid(pixels.height), grid_width = exact.grid(pixels.width);
    const auto patches = [&](const Vit& vit) {
      return Matrix(vit.tokens(pixels).bottomRows(grid_height * grid_width));
    };
    const Matrix a = patches(exact), b = patches(quick);
    EXPECT_GT((a - b).cwiseAbs().maxCoeff(), 0) << "int8 computed in float32";
    double worst = 1;
    for (long i = 0; i < a.rows(); ++i) worst = std::min(worst, cosine(a.row(i), b.row(i)));
    EXPECT_GE(worst, 0.9);  // 64 channels are few to average over
    const Descriptor x = head->aggregate({a, grid_height, grid_width, {}});
    const Descriptor y = head->aggregate({b, grid_height, grid_width, {}});
    testing::Test::RecordProperty(name + "." + key, std::to_string(cosine(x, y)));
    EXPECT_GE(cosine(x, y), least);
  }
}

TEST(VitInt8Golden, DescriptorsStay) {
  for (const std::string name : {"dinov2_mlp", "dinov2_swiglu", "dinov2_reg"}) {
    RIA_NEEDS_GOLDEN(name);
    check(name, TensorFile::open(golden_dir() / name / "model.safetensors"), 0.995);
  }
}

TEST(VitInt8Golden, DescriptorsStayWithOutlyingChannels) {
  for (const std::string name : {"dinov2_mlp", "dinov2_swiglu", "dinov2_reg"}) {
    RIA_NEEDS_GOLDEN(name);
    const TensorFile weights = TensorFile::open(golden_dir() / name / "weights_hub.pth");
    const VitShape shape = vit_shape(weights, canonical_vit_names(weights));
    for (const float factor : {10.0f, 100.0f}) {
      SCOPED_TRACE(factor);
      check(name, with_outliers(weights, shape, factor), 0.995);
    }
  }
}

TEST(VitInt8Golden, SameBitsForAnyNumberOfThreads) {
  RIA_NEEDS_GOLDEN("dinov2_mlp");
  const auto folder = golden_dir() / "dinov2_mlp";
  const TensorFile weights = TensorFile::open(folder / "model.safetensors");
  const Pixels pixels = pixels_of(TensorFile::open(folder / "inputs.safetensors").at("224x224"));
  for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
    VitOutput output;
    output.blocks = 2;
    const Vit vit(weights, output, precision);
    set_thread_cores(1);
    const Matrix one = vit.tokens(pixels);
    for (const int threads : {2, 3}) {
      set_thread_cores(threads);
      EXPECT_TRUE(one == vit.tokens(pixels)) << threads << " threads";
    }
    set_thread_cores(0);
  }
}

}  // namespace
}  // namespace ria
