// SPDX-License-Identifier: MIT
// SelaVPR's local features on any grid, and checkpoints that do not hold them.
#include "rerank/selavpr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ria/eigen.h"
#include "ria/verify.h"
#include "support/error_message.h"
#include "support/weights_fixture.h"

namespace ria {
namespace {

std::vector<float> normal_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

TensorMap checkpoint() {
  TensorMap tensors;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, unsigned seed) {
    std::size_t count = 1;
    for (const auto side : shape) count *= static_cast<std::size_t>(side);
    tensors["module.LocalAdapt." + name] = make_tensor(shape, normal_values(count, seed));
  };
  add("upconv1.weight", {10, 6, 3, 3}, 1);
  add("upconv1.bias", {6}, 2);
  add("upconv2.weight", {6, 5, 3, 3}, 3);
  add("upconv2.bias", {5}, 4);
  return tensors;
}

TensorFile file_of(const TensorMap& tensors) { return {"sela.pth", WeightFormat::torch, tensors}; }

/// [row][column][channel], by the definition: every input is spread over the outputs it reaches.
struct Grid {
  int height, width, channels;
  std::vector<double> values;
  double& at(int y, int x, int c) {
    return values[(static_cast<std::size_t>(y) * width + x) * channels + c];
  }
};

Grid spread(Grid in, const Tensor& weight, const Tensor& bias) {
  const int outputs = static_cast<int>(weight.shape[1]);
  const std::vector<double> w = weight.doubles(), b = bias.doubles();
  Grid out{2 * in.height - 1, 2 * in.width - 1, outputs, {}};
  for (int i = 0; i < out.height * out.width; ++i) {
    out.values.insert(out.values.end(), b.begin(), b.end());
  }
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      for (int ky = 0; ky < 3; ++ky) {
        for (int kx = 0; kx < 3; ++kx) {
          const int to_y = 2 * y + ky - 1, to_x = 2 * x + kx - 1;
          if (to_y < 0 || to_x < 0 || to_y >= out.height || to_x >= out.width) continue;
          for (int o = 0; o < outputs; ++o) {
            for (int i = 0; i < in.channels; ++i) {
              out.at(to_y, to_x, o) +=
                  in.at(y, x, i) *
                  w[((static_cast<std::size_t>(i) * outputs + o) * 3 + ky) * 3 + kx];
            }
          }
        }
      }
    }
  }
  return out;
}

TEST(Selavpr, LocalFeaturesOfAnyGrid) {
  const TensorMap tensors = checkpoint();
  const auto reranker = read_selavpr_reranker(file_of(tensors));
  for (const auto& [height, width] : {std::pair{1, 1}, {1, 4}, {5, 3}, {30, 20}}) {
    SCOPED_TRACE(testing::Message() << height << " x " << width);
    const std::vector<float> values = normal_values(10u * height * width, 9);
    const PatchFeatures features{Matrix(height * width, 10, values), height, width, {}};
    Grid grid{height, width, 10, {values.begin(), values.end()}};
    const auto layer = [&](const std::string& name) {
      grid = spread(grid,
                    tensors.at("module.LocalAdapt." + name + ".weight"),
                    tensors.at("module.LocalAdapt." + name + ".bias"));
    };
    layer("upconv1");
    for (double& value : grid.values) value = std::max(value, 0.0);
    layer("upconv2");
    const LocalFeatures local = reranker->extract(features);
    ASSERT_EQ(local.grid_height, 4 * height - 3);
    ASSERT_EQ(local.grid_width, 4 * width - 3);
    MatrixD expected(grid.height * grid.width, 5, grid.values);
    as_eigen(expected).rowwise().normalize();
    ASSERT_EQ(local.vectors.rows(), expected.rows());
    EXPECT_LE((as_eigen(local.vectors).cast<double>() - as_eigen(expected)).cwiseAbs().maxCoeff(),
              1e-5);
    set_thread_cores(1);
    EXPECT_EQ(reranker->extract(features).vectors, local.vectors);
    set_thread_cores(0);
  }
}

/// As published: a single pair counts nothing.
TEST(Selavpr, ScoreIsTheNumberOfMutualNeighbours) {
  const auto reranker = read_selavpr_reranker(file_of(checkpoint()));
  const LocalFeatures unit{to_matrix(EigenMatrix::Identity(5, 5)), 1, 5};
  EXPECT_EQ(reranker->score(unit, unit), 5);
  LocalFeatures half = unit;
  std::ranges::copy(half.vectors.row(1), half.vectors.row(3).begin());
  std::ranges::copy(half.vectors.row(1), half.vectors.row(4).begin());
  EXPECT_EQ(reranker->score(unit, half), 3);
  EXPECT_EQ(reranker->score(half, unit), 3);
  EXPECT_EQ(reranker->score(unit, {to_matrix(EigenMatrix::Identity(2, 5)), 1, 2}), 2);
  EXPECT_EQ(reranker->score(unit, {to_matrix(EigenMatrix::Identity(1, 5)), 1, 1}), 0);
}

TEST(Selavpr, WrongFeaturesAreNamed) {
  const auto reranker = read_selavpr_reranker(file_of(checkpoint()));
  EXPECT_EQ(message_of([&] {
              reranker->extract({Matrix(6, 9), 2, 3, {}});
            }),
            "features have 9 columns, 10 were expected");
  EXPECT_EQ(message_of([&] {
              reranker->extract({Matrix(6, 10), 2, 2, {}});
            }),
            "6 patches are no grid of 2 x 2");
  EXPECT_THROW(reranker->extract({Matrix(0, 10), 0, 0, {}}), std::invalid_argument);
  EXPECT_EQ(message_of([&] {
              reranker->score({Matrix(4, 5), 2, 2}, {Matrix(4, 6), 2, 2});
            }),
            "local features have 5 columns, the place's have 6");
  EXPECT_THROW(reranker->reorder({{1, 0.5f}}, {}), std::invalid_argument);
}

TEST(Selavpr, CheckpointsWithoutItAreRefused) {
  const auto refused = [](auto change, const std::string& words) {
    TensorMap tensors = checkpoint();
    change(tensors);
    weights_test::expect_error([&] { read_selavpr_reranker(file_of(tensors)); }, "sela.pth", words);
  };
  const std::string name = "module.LocalAdapt.";
  refused([](TensorMap& t) { t.clear(); }, "LocalAdapt.upconv1.weight");
  refused([&](TensorMap& t) { t.erase(name + "upconv2.weight"); }, "LocalAdapt.upconv2.weight");
  refused([&](TensorMap& t) { t.erase(name + "upconv1.bias"); },
          "LocalAdapt.upconv1.bias is missing");
  refused([&](TensorMap& t) { t[name + "upconv2.bias"] = make_tensor({4}, normal_values(4, 1)); },
          "LocalAdapt.upconv2.bias has 4 values, 5 were expected");
  refused(
      [&](TensorMap& t) {
        t[name + "upconv1.weight"] = make_tensor({10, 6, 5, 5}, normal_values(1500, 1));
      },
      "LocalAdapt.upconv1.weight is no 3 x 3 kernel");
  refused(
      [&](TensorMap& t) {
        t[name + "upconv2.weight"] = make_tensor({7, 5, 3, 3}, normal_values(315, 1));
      },
      "LocalAdapt.upconv2 takes 7 channels, LocalAdapt.upconv1 gives 6");
}

}  // namespace
}  // namespace ria
