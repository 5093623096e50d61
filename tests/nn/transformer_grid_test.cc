// SPDX-License-Identifier: MIT
// Adapters that see the grid of the patches, and a path beside the blocks, against the equations in
// double precision.
#include <gtest/gtest.h>

#include "backbone/vit.h"
#include "support/random_network.h"
#include "support/weights_fixture.h"

namespace ria {
namespace {

constexpr int kHeight = 7, kWidth = 5;  // patches of picture()
constexpr int kWidest = 24;             // channels inside the adapter

EigenMatrix tokens_after(const RandomNetwork& network, int blocks, const Pixels& pixels) {
  VitOutput output;
  output.blocks = blocks;
  return as_eigen(Vit(network.file(), output, Precision::kFp32).tokens(pixels));
}

double relative_error(const EigenMatrix& actual, const EigenMatrixD& expected) {
  return (actual.cast<double>() - expected).norm() / expected.norm();
}

void add_linear(RandomNetwork& network, const std::string& name, int out, int in) {
  network.add(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
  network.add(name + ".bias", {out}, 0.3f);
}

struct Branch {
  std::string name;
  int out, in, kernel;
};
const std::vector<Branch> kBranches{{"branch1", 12, kWidest, 1},
                                    {"branch2.0", 3, kWidest, 1},
                                    {"branch2.1", 7, 3, 3},
                                    {"branch3.0", 4, kWidest, 1},
                                    {"branch3.1", 5, 4, 5}};

void add_multi_scale(RandomNetwork& network) {
  for (int b = 0; b < kDepth; ++b) {
    const std::string name = "blocks." + std::to_string(b) + ".adapter.";
    add_linear(network, name + "D_fc1", kWidest, kDim);
    add_linear(network, name + "D_fc2", kDim, kWidest);
    for (const Branch& branch : kBranches) {
      const std::string layer = name + branch.name;
      network.add(
          layer + ".conv.weight", {branch.out, branch.in, branch.kernel, branch.kernel}, 0.3f);
      network.add(layer + ".conv.bias", {branch.out}, 0.3f);
      network.add(layer + ".bn.weight", {branch.out}, 0.2f, 1);
      network.add(layer + ".bn.bias", {branch.out}, 0.2f);
      network.add(layer + ".bn.running_mean", {branch.out}, 0.2f);
      network.add(layer + ".bn.running_var", {branch.out}, 0.01f, 0.1f);  // so that eps shows
    }
  }
}

/// Positions x channels through a convolution, its batch norm and ReLU, cell by cell.
EigenMatrixD convolved(const RandomNetwork& network,
                       const std::string& layer,
                       const Branch& branch,
                       const EigenMatrixD& x) {
  const EigenMatrixD weight = network.matrix(layer + ".conv.weight");
  const auto column = [&](const char* name) { return network.matrix(layer + name); };
  const EigenMatrixD bias = column(".conv.bias"), gamma = column(".bn.weight"),
                     beta = column(".bn.bias"), mean = column(".bn.running_mean"),
                     variance = column(".bn.running_var");
  const int k = branch.kernel, pad = k / 2;
  EigenMatrixD out(x.rows(), branch.out);
  for (int i = 0; i < kHeight * kWidth; ++i) {
    for (int o = 0; o < branch.out; ++o) {
      double sum = bias(o, 0);
      for (int tap = 0; tap < k * k; ++tap) {
        const int row = i / kWidth + tap / k - pad, col = i % kWidth + tap % k - pad;
        if (row < 0 || row >= kHeight || col < 0 || col >= kWidth) continue;
        for (int c = 0; c < branch.in; ++c) {
          sum += weight(o, c * k * k + tap) * x(row * kWidth + col, c);
        }
      }
      const double normed = (sum - mean(o, 0)) / std::sqrt(variance(o, 0) + 1e-3);
      out(i, o) = std::max(0.0, normed * gamma(o, 0) + beta(o, 0));
    }
  }
  return out;
}

/// x through block b of the network without adapters, and what its adapter adds.
EigenMatrixD adapted_block(const RandomNetwork& network, const EigenMatrixD& x, int b) {
  const std::string block = "blocks." + std::to_string(b) + ".", name = block + "adapter.";
  EigenMatrixD y = network.linear(name + "D_fc1", network.before_mlp(x, b)).cwiseMax(0);
  const EigenMatrixD patches = y.bottomRows(kHeight * kWidth);
  const auto branch = [&](int i, const EigenMatrixD& of) {
    return convolved(network, name + kBranches[i].name, kBranches[i], of);
  };
  EigenMatrixD grid(patches.rows(), kWidest);
  grid << branch(0, patches), branch(2, branch(1, patches)), branch(4, branch(3, patches));
  y.row(0) *= 2;
  y.bottomRows(kHeight * kWidth) += grid;
  return network.block(x, b) +
         network.scaled(block + "ls2.gamma", 0.2 * network.linear(name + "D_fc2", y));
}

TEST(TransformerGrid, MultiScaleAdaptersFollowTheEquations) {
  const RandomNetwork plain(0, false, true);
  RandomNetwork network = plain;
  add_multi_scale(network);
  const EigenMatrixD start = tokens_after(network, 0, picture()).cast<double>();
  const EigenMatrixD one = adapted_block(network, start, 0), two = adapted_block(network, one, 1);
  EXPECT_LE(relative_error(tokens_after(network, 1, picture()), one), 2e-6);
  EXPECT_LE(relative_error(tokens_after(network, 2, picture()), two), 2e-6);
  EXPECT_GT(relative_error(tokens_after(plain, 2, picture()), two), 1e-3);
}

TEST(TransformerGrid, SameBitsForAnyNumberOfThreads) {
  RandomNetwork network(0, false, true);
  add_multi_scale(network);
  const auto run = [&](int threads) {
    set_thread_cores(threads);
    return tokens_after(network, 2, picture(11, 9));
  };
  const EigenMatrix one = run(1);
  EXPECT_TRUE(one == run(2));
  set_thread_cores(0);
}

TEST(TransformerGrid, BranchesThatDoNotFitAreRefused) {
  RandomNetwork network(0, false, true);
  add_multi_scale(network);
  const auto refused = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    RandomNetwork broken = network;
    broken.add("blocks.1.adapter." + name, shape, 1);
    weights_test::expect_error(
        [&] { tokens_after(broken, kDepth, picture()); }, "network.pth", "expected");
  };
  refused("branch2.1.conv.weight", {7, 3, 5, 5});
  refused("branch3.1.conv.weight", {5, 3, 5, 5});
  refused("branch1.bn.running_var", {11});
}

TEST(TransformerGrid, ThePathBesideTheBlocksFollowsTheEquations) {
  RandomNetwork network(0, false, true);
  for (int b = 0; b < kDepth; ++b) {
    add_linear(network, "adapters." + std::to_string(b) + ".D_fc1", 4, kDim);
    add_linear(network, "adapters." + std::to_string(b) + ".D_fc2", kDim, 4);
  }
  EigenMatrixD x = tokens_after(network, 0, picture()).cast<double>(), y = x;
  for (int b = 0; b < kDepth; ++b) {
    const std::string name = "adapters." + std::to_string(b);
    x = network.block(x, b);
    y += x;
    const EigenMatrixD inner = network.linear(name + ".D_fc1", y).unaryExpr([](double v) {
      return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    });
    y += 0.5 * network.linear(name + ".D_fc2", inner);
    EXPECT_LE(relative_error(tokens_after(network, b + 1, picture()), y), 2e-6);
  }
}

}  // namespace
}  // namespace ria
