// SPDX-License-Identifier: MIT
// 8-bit transformers against float32 on the golden networks, as they are and with channels a
// hundred times larger than the rest, the way trained transformers have them.
#include "backbone/vit.h"
#include "golden/dinov2_cases.h"
#include "golden/pixels.h"
#include "ria/aggregator.h"
#include "ria/verify.h"

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

void check(const GoldenCase& golden, const TensorFile& weights, double least) {
  const VitShape shape = vit_shape(weights, canonical_vit_names(weights));
  VitOutput output;  // values behind at least one block: their own projection is float32
  output.blocks = std::max(shape.depth - 1, 1);
  output.facet = shape.depth > 1 ? Facet::kValue : Facet::kToken;
  output.position_rule = position_rule(golden);
  const Vit exact(weights, output, Precision::kFp32), quick(weights, output, Precision::kInt8);
  const auto head = make_ria(exact.dim(), {.d = 32});
  for (const auto& [key, tensor] : golden.inputs().tensors()) {
    SCOPED_TRACE(golden.name() + " " + key);
    const Pixels pixels = pixels_of(tensor);
    const int grid_height = exact.grid(pixels.height), grid_width = exact.grid(pixels.width);
    const auto patches = [&](const Vit& vit) {
      return to_matrix(as_eigen(vit.tokens(pixels)).bottomRows(grid_height * grid_width));
    };
    const Matrix a = patches(exact), b = patches(quick);
    EXPECT_NE(a, b) << "int8 computed in float32";
    double worst = 1;
    for (int i = 0; i < a.rows(); ++i) worst = std::min(worst, cosine(a.row(i), b.row(i)));
    EXPECT_GE(worst, 0.9);  // 64 channels are few to average over
    const Descriptor x = head->aggregate({a, grid_height, grid_width, {}});
    const Descriptor y = head->aggregate({b, grid_height, grid_width, {}});
    testing::Test::RecordProperty(golden.name() + "." + key, std::to_string(cosine(x, y)));
    EXPECT_GE(cosine(x, y), least);
  }
}

/// The cases of DINOv2, and of each the file whose names are the published code's or Hugging
/// Face's.
class VitInt8Golden : public GoldenTest {
 protected:
  void SetUp() override {
    if (cases_.empty()) GTEST_SKIP() << "no case of DINOv2 in " << golden_dir().string();
  }

  std::optional<TensorFile> weights(const GoldenCase& golden, bool published_names) {
    auto file = golden.weights_where(
        [&](const TensorFile& held) { return held.contains("pos_embed") == published_names; });
    if (!file) {
      leave_out(golden.name() + " under " + (published_names ? "published" : "Hugging Face") +
                " names");
    }
    return file;
  }

  const std::vector<GoldenCase> cases_ = dinov2_cases();
};

TEST_F(VitInt8Golden, DescriptorsStay) {
  for (const GoldenCase& golden : cases_) {
    if (const auto file = weights(golden, false)) check(golden, *file, 0.995);
  }
}

TEST_F(VitInt8Golden, DescriptorsStayWithOutlyingChannels) {
  for (const GoldenCase& golden : cases_) {
    const auto file = weights(golden, true);
    if (!file) continue;
    const VitShape shape = vit_shape(*file, canonical_vit_names(*file));
    for (const float factor : {10.0f, 100.0f}) {
      SCOPED_TRACE(factor);
      check(golden, with_outliers(*file, shape, factor), 0.995);
    }
  }
}

/// The input with the most pixels.
const Tensor& largest_input(const GoldenCase& golden) {
  const TensorMap& all = golden.inputs().tensors();
  return std::max_element(
             all.begin(),
             all.end(),
             [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
      ->second;
}

TEST_F(VitInt8Golden, SameBitsForAnyNumberOfThreads) {
  for (const GoldenCase& golden : cases_) {
    SCOPED_TRACE(golden.name());
    ASSERT_FALSE(golden.weight_files().empty() || golden.inputs().names().empty());
    const TensorFile weights = TensorFile::open(golden.weight_files().back());
    const Pixels pixels = pixels_of(largest_input(golden));
    for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
      VitOutput output;
      output.blocks = golden.config().at("depth").get<int>();
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
}

}  // namespace
}  // namespace ria
