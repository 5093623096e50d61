// SPDX-License-Identifier: MIT
#include "train/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error_message.h"
#include "support/torch_engine.h"

namespace ria {
namespace {

using Named = std::vector<std::pair<std::string, MatrixD>>;

MatrixD random_matrix(int rows, int columns, double scale, std::uint32_t seed) {
  const auto values = random_values(static_cast<std::size_t>(rows) * columns, 1, seed);
  MatrixD out(rows, columns);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) out(i, j) = scale * values[i * columns + j];
  }
  return out;
}

/// A head with a hidden layer, moved along one direction of one of its inputs (0: the patches).
struct HeadProblem {
  HeadProblem(int d, int iterations) {
    const int dim = d + 5, values = d * (d + 1) / 2;
    shape.feature_dim = dim;
    shape.heads = {{d, 6, 3}};
    shape.iterations = iterations;
    shape.tau = 1e-4;
    patches = random_matrix(3 * d, dim, 1, 1);
    tensors = {{"heads.0.projection.weight", random_matrix(d, dim, 0.4, 2)},
               {"heads.0.mlp.0.weight", random_matrix(6, values, 1, 3)},
               {"heads.0.mlp.0.bias", random_matrix(1, 6, 0.3, 4)},
               {"heads.0.mlp.2.weight", random_matrix(3, 6, 0.6, 5)},
               {"heads.0.mlp.2.bias", random_matrix(1, 3, 0.3, 6)}};
  }

  TorchFunctions::HeadResult run() const {
    return torch_functions().head(patches, shape, tensors, {0.3, -1, 0.7});
  }
  MatrixD& input(int i) { return i == 0 ? patches : tensors[i - 1].second; }

  NetworkShape shape;
  MatrixD patches;
  Named tensors;
};

TEST(TrainEngine, HeadsBackwardIsTheSlopeOfTheForward) {
  RIA_NEEDS_TORCH;
  for (const int d : {8, 64}) {
    for (const int iterations : {1, 3, 5}) {
      HeadProblem problem(d, iterations);
      const auto result = problem.run();
      ASSERT_EQ(result.gradients.size(), 6u);
      for (int i = 0; i < 6; ++i) {
        const MatrixD at = problem.input(i);
        const MatrixD direction = random_matrix(at.rows(), at.cols(), 1, 20 + i);
        const auto moved = [&](double by) {
          as_eigen(problem.input(i)) = as_eigen(at) + by * as_eigen(direction);
          return problem.run().value;
        };
        constexpr double kStep = 1e-6;
        const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
        problem.input(i) = at;
        const double expected =
            as_eigen(result.gradients[i]).cwiseProduct(as_eigen(direction)).sum();
        EXPECT_NEAR(slope, expected, 1e-6 * std::max(1.0, std::abs(expected)))
            << "d " << d << ", iterations " << iterations << ", input " << i;
        EXPECT_GT(std::abs(expected), 1e-6) << i;
      }
    }
  }
}

void expect_same(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].shape, b[i].shape);
    EXPECT_EQ(a[i].values, b[i].values) << a[i].name;
  }
}

TEST(TrainEngine, ResumesToTheSameBits) {
  RIA_NEEDS_TORCH;
  const SmallNetwork network;
  EngineOptions options;
  options.weight_decay = 0.01;
  options.clip_norm = 0.5;
  const auto whole = network.engine(options), first = network.engine(options);
  for (int i = 0; i < 4; ++i) whole->step(small_batch(8, i), 1e-3, 1e-2);
  for (int i = 0; i < 2; ++i) first->step(small_batch(8, i), 1e-3, 1e-2);
  const EngineState state = first->state();
  EXPECT_EQ(state.steps, 2);
  const auto second = network.engine(options);
  second->set_state(state);
  for (int i = 2; i < 4; ++i) second->step(small_batch(8, i), 1e-3, 1e-2);
  expect_same(whole->tensors(), second->tensors());
  expect_same(whole->state().tensors, second->state().tensors);
}

TEST(TrainEngine, FirstStepIsAdamW) {
  RIA_NEEDS_TORCH;
  const SmallNetwork network;
  EngineOptions options;
  options.weight_decay = 0.1;
  const auto engine = network.engine(options);
  const TrainBatch batch = small_batch(8);
  const auto gradients = engine->gradients(batch);
  ASSERT_EQ(gradients.size(), network.trained.size());
  const EngineState before = engine->state();
  const StepResult result = engine->step(batch, 1e-3, 1e-2);
  EXPECT_TRUE(result.finite);
  EXPECT_GT(result.positive_pairs, 0);
  EXPECT_GT(result.negative_pairs, 0);
  const EngineState after = engine->state();
  double squares = 0;
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    const double rate = gradients[t].name.starts_with("heads.") ? 1e-2 : 1e-3;
    for (std::size_t i = 0; i < gradients[t].values.size(); ++i) {
      const double g = gradients[t].values[i], old = before.tensors[3 * t].values[i];
      squares += g * g;
      const double expected = old * (1 - rate * 0.1) - rate * g / (std::abs(g) + 1e-8);
      EXPECT_NEAR(after.tensors[3 * t].values[i], expected, 2e-6) << gradients[t].name;
    }
  }
  EXPECT_NEAR(result.gradient_norm, std::sqrt(squares), 1e-5);
  EXPECT_EQ(engine->tensors()[0].name, "backbone.a.bias");
  EXPECT_EQ(engine->tensors()[0].values, network.tensors[1].values);  // frozen
}

TEST(TrainEngine, StepsDescend) {
  RIA_NEEDS_TORCH;
  const auto engine = SmallNetwork().engine();
  const TrainBatch batch = small_batch(8);
  const double first = engine->step(batch, 1e-3, 1e-2).loss;
  double last = first;
  for (int i = 0; i < 30; ++i) last = engine->step(batch, 1e-3, 1e-2).loss;
  EXPECT_LT(last, 0.8 * first);
}

TEST(TrainEngine, NoNumberChangesNothing) {
  RIA_NEEDS_TORCH;
  const auto engine = SmallNetwork().engine();
  engine->step(small_batch(8), 1e-3, 1e-2);
  const EngineState before = engine->state();
  TrainBatch batch = small_batch(8);
  batch.values[700] = std::numeric_limits<float>::quiet_NaN();
  const StepResult result = engine->step(batch, 1e-3, 1e-2);
  EXPECT_FALSE(result.finite);
  EXPECT_TRUE(std::isnan(result.descriptors(0, 0)));
  EXPECT_FALSE(std::isnan(result.descriptors(1, 0)));
  EXPECT_EQ(engine->state().steps, before.steps);
  expect_same(engine->state().tensors, before.tensors);
}

TEST(TrainEngine, EntersInTheMiddle) {
  RIA_NEEDS_TORCH;
  SmallNetwork network;
  NetworkShape& shape = network.shape;
  const auto whole = network.engine();
  const TrainBatch batch = small_batch(4);
  // The first convolution alone tells what enters behind it.
  SmallNetwork front;
  front.shape.conv.steps.resize(1);
  TrainBatch behind = batch;
  const Matrix entered = front.engine()->features(batch);
  behind.values.assign(entered.values().begin(), entered.values().end());
  behind.height = 8;
  behind.width = 10;
  behind.channels = SmallNetwork::kChannels;
  shape.entry = 1;
  network.tensors.erase(network.tensors.begin(), network.tensors.begin() + 2);
  const auto rest = network.engine();
  const Matrix a = whole->embed(batch), b = rest->embed(behind);
  EXPECT_LE((as_eigen(a) - as_eigen(b)).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_EQ(whole->head_vectors(batch).cols(), 21 + 10);
}

TEST(TrainEngine, HalfPrecisionIsNear) {
  RIA_NEEDS_TORCH;
  const SmallNetwork network;
  EngineOptions options;
  const Matrix full = network.engine(options)->embed(small_batch(4));
  options.precision = "bf16";
  const auto engine = network.engine(options);
  const Matrix half = engine->embed(small_batch(4));
  EXPECT_LE((as_eigen(full) - as_eigen(half)).cwiseAbs().maxCoeff(), 0.05);
  EXPECT_NE(full(0, 0), half(0, 0));
  EXPECT_TRUE(engine->step(small_batch(8), 1e-3, 1e-2).finite);
}

TEST(TrainEngine, SaysInOneLineWhatItHasNot) {
  RIA_NEEDS_TORCH;
  const auto refused =
      [](const SmallNetwork& network, const EngineOptions& options, const std::string& words) {
        const std::string text = message_of([&] { network.engine(options); });
        EXPECT_TRUE(contains(text, words)) << text;
        EXPECT_FALSE(contains(text, "\n")) << text;
      };
  EngineOptions options;
  options.device = "gpu";
  refused({}, options, "device is gpu, cpu, cuda or cuda:N was expected");
  if (!contains(torch_functions().version(), "CUDA")) {
    options.device = "cuda";
    refused({}, options, "has no CUDA");
  }
  options.device = "cpu";
  options.precision = "fp16";
  refused({}, options, "fp16 needs device cuda");
  options.precision = "fp8";
  refused({}, options, "fp32, bf16 or fp16 was expected");
  SmallNetwork network;
  network.tensors.pop_back();
  network.trained.pop_back();
  refused(network, {}, "heads.1.mlp.0.bias is missing");
  network = {};
  network.shape.heads[0].d = 7;
  refused(network, {}, "heads.0.projection.weight is [6, 12], [7, 12] was expected");
  network = {};
  network.shape.entry = 2;  // the second convolution adds tensor 1
  EXPECT_EQ(message_of([&] { network.engine(); }), "nothing was thrown");
  network.shape.conv.steps.push_back({"backbone.b", 2, 1, true, 3, 1, 1});
  refused(network, {}, "reads tensor 1");
  const auto engine = SmallNetwork().engine();
  TrainBatch batch = small_batch(4);
  batch.values.pop_back();
  EXPECT_TRUE(
      contains(message_of([&] { engine->embed(batch); }), "3839 values, 3840 were expected"));
  batch = small_batch(4);
  batch.labels.pop_back();
  EXPECT_TRUE(contains(message_of([&] { engine->step(batch, 1, 1); }), "has 3 labels"));
  EXPECT_TRUE(contains(message_of([&] {
                         engine->set_tensors({{"heads.0.mlp.0.bias", {3}, {1, 2, 3}}});
                       }),
                       "is [3], [8] was expected"));
}

}  // namespace
}  // namespace ria
