// SPDX-License-Identifier: MIT
// Heads with weights: against their definitions, and files and pictures they refuse.
#include "head/heads.h"

#include <gtest/gtest.h>

#include <limits>

#include "aggregate/netvlad.h"
#include "head/salad.h"
#include "nn/row_blocks.h"
#include "ria/backbone.h"
#include "ria/eigen.h"
#include "support/error_message.h"
#include "support/ria_ft_random.h"
#include "support/weights_fixture.h"
#include "weights/architecture.h"
#include "weights/matconvnet_vgg.h"

namespace ria {
namespace {

Matrix random_matrix(int rows, int columns, std::uint32_t seed) {
  std::mt19937 engine(seed);
  const std::vector<float> values = random_weight(rows, columns, engine).floats();
  Matrix out(rows, columns, values);
  as_eigen(out) *= std::sqrt(static_cast<float>(columns));
  return out;
}

PatchFeatures random_features(int patches, int dim) {
  return {random_matrix(patches, dim, 3), patches, 1, to_vector(EigenVector::Random(dim))};
}

TensorFile file_of(TensorMap tensors) {
  return {"head.pth", WeightFormat::torch, std::move(tensors)};
}

Tensor zeros(std::vector<std::int64_t> shape, float value = 0) {
  std::int64_t size = 1;
  for (const std::int64_t n : shape) size *= n;
  return make_tensor(shape, std::vector<float>(static_cast<std::size_t>(size), value));
}

using Read = std::unique_ptr<Aggregator> (*)(const TensorFile&);

std::unique_ptr<Aggregator> read_netvlad_whitened(const TensorFile& file) {
  return read_netvlad(file);
}

struct HeadFile {
  const char* name;
  Read read;
  TensorMap tensors;
};

HeadFile cosplace() {
  return {"CosPlace",
          read_cosplace,
          {{"aggregation.1.p", zeros({1}, 3)},
           {"aggregation.3.weight", zeros({4, 6}, 1)},
           {"aggregation.3.bias", zeros({4})}}};
}

HeadFile netvlad() {
  return {"NetVLAD",
          read_netvlad_whitened,
          {{"pool.conv.weight", zeros({3, 6, 1, 1}, 1)},
           {"pool.conv.bias", zeros({3})},
           {"pool.centroids", zeros({3, 6}, 0.5f)},
           {"WPCA.0.weight", zeros({4, 18, 1, 1}, 1)},
           {"WPCA.0.bias", zeros({4})}}};
}

HeadFile mixvpr() {
  HeadFile file{"MixVPR",
                read_mixvpr,
                {{"aggregator.channel_proj.weight", zeros({3, 6}, 1)},
                 {"aggregator.channel_proj.bias", zeros({3})},
                 {"aggregator.row_proj.weight", zeros({2, 9}, 1)},
                 {"aggregator.row_proj.bias", zeros({2})}}};
  for (const std::string mixer : {"aggregator.mix.0.mix.", "aggregator.mix.1.mix."}) {
    file.tensors[mixer + "0.weight"] = zeros({9}, 1);
    file.tensors[mixer + "0.bias"] = zeros({9});
    file.tensors[mixer + "1.weight"] = zeros({5, 9}, 1);
    file.tensors[mixer + "1.bias"] = zeros({5});
    file.tensors[mixer + "3.weight"] = zeros({9, 5}, 1);
    file.tensors[mixer + "3.bias"] = zeros({9});
  }
  return file;
}

HeadFile salad() {
  HeadFile file{"SALAD", read_salad, {{"aggregator.dust_bin", zeros({}, 1)}}};
  const auto layers = [&](const std::string& name, int second, std::int64_t out) {
    const std::string last = std::to_string(second);
    file.tensors["aggregator." + name + ".0.weight"] = zeros({7, 6}, 1);
    file.tensors["aggregator." + name + ".0.bias"] = zeros({7}, 1);
    file.tensors["aggregator." + name + "." + last + ".weight"] = zeros({out, 7}, 1);
    file.tensors["aggregator." + name + "." + last + ".bias"] = zeros({out}, 1);
  };
  layers("token_features", 2, 5);
  layers("cluster_features", 3, 3);
  layers("score", 3, 4);
  return file;
}

std::vector<HeadFile> heads() { return {cosplace(), netvlad(), mixvpr(), salad()}; }

TEST(Heads, EveryTensorIsChecked) {
  for (const HeadFile& head : heads()) {
    EXPECT_NO_THROW(head.read(file_of(head.tensors))) << head.name;
    const auto refused = [&](const TensorMap& tensors, const std::string& words) {
      weights_test::expect_error([&] { head.read(file_of(tensors)); }, "head.pth", words);
    };
    refused({{"other", zeros({1})}}, std::string("holds no ") + head.name);
    for (const auto& [name, tensor] : head.tensors) {
      SCOPED_TRACE(name);
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        TensorMap tensors = head.tensors;
        std::vector<float> values = tensor.floats();
        values.back() = bad;
        tensors[name] = make_tensor(tensor.shape, values);
        refused(tensors, "tensor " + name + " holds NaN or infinity");
      }
      TensorMap tensors = head.tensors;
      tensors[name] = zeros({2, 3, 4});
      refused(tensors, "tensor " + name + " is [2, 3, 4], [");
      tensors.erase(name);
      // The bias and the whitening of NetVLAD are not in every file.
      if (name == "pool.conv.bias" || name == "WPCA.0.weight") {
        EXPECT_NO_THROW(head.read(file_of(tensors)));
      } else {
        refused(tensors, name);
      }
    }
  }
}

TEST(Heads, WidthsMustFit) {
  for (const HeadFile& head : heads()) {
    const auto aggregator = head.read(file_of(head.tensors));
    PatchFeatures features = random_features(9, 7);
    EXPECT_THROW(aggregator->aggregate(features), std::invalid_argument) << head.name;
    features = random_features(9, 6);
    features.patches(4, 2) = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(aggregator->aggregate(features), std::invalid_argument) << head.name;
    EXPECT_EQ(std::ssize(aggregator->aggregate(random_features(9, 6))), aggregator->dim())
        << head.name;
  }
}

TEST(Heads, ExponentMustBePositive) {
  HeadFile file = cosplace();
  file.tensors["aggregation.1.p"] = zeros({1}, -2);
  EXPECT_TRUE(contains(message_of([&] { read_cosplace(file_of(file.tensors)); }), "is -2"));
}

TEST(Heads, SelaVprNeedsItsNetwork) {
  const TensorMap alone{{"aggregation.1.p", zeros({1}, 3)}};
  weights_test::expect_error([&] { read_selavpr(file_of(alone)); }, "head.pth", "DINOv2");
}

TEST(Heads, MixVprReadsOneSizeOnly) {
  const auto head = read_mixvpr(file_of(mixvpr().tensors));
  const std::string text = message_of([&] { head->aggregate(random_features(8, 6)); });
  EXPECT_TRUE(contains(text, "8 patches (8x1)")) << text;
  EXPECT_TRUE(contains(text, "trained on 9")) << text;
}

TEST(Heads, MixersWithoutGaps) {
  HeadFile file = mixvpr();
  file.tensors["aggregator.mix.3.mix.0.weight"] = zeros({9});
  const std::string text = message_of([&] { read_mixvpr(file_of(file.tensors)); });
  EXPECT_TRUE(contains(text, "no aggregator.mix.2 before it")) << text;
}

TEST(Heads, SaladNeedsMorePatchesThanClusters) {
  const auto head = read_salad(file_of(salad().tensors));
  EXPECT_NO_THROW(head->aggregate(random_features(5, 6)));
  const std::string text = message_of([&] { head->aggregate(random_features(4, 6)); });
  EXPECT_TRUE(contains(text, "4 patches")) << text;
  EXPECT_TRUE(contains(text, "4 clusters")) << text;
  EXPECT_TRUE(contains(text, "larger picture")) << text;
  EXPECT_THROW(head->aggregate(random_features(4, 6)), std::invalid_argument);
}

TEST(Heads, SaladNeedsAClassToken) {
  const auto head = read_salad(file_of(salad().tensors));
  PatchFeatures features = random_features(9, 6);
  features.class_token = {};
  const std::string text = message_of([&] { head->aggregate(features); });
  EXPECT_TRUE(contains(text, "class token has 0 values, SALAD expects 6")) << text;
  features.class_token = Vector(6, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW(head->aggregate(features), std::invalid_argument);
}

// Scores far beyond what exp() can hold still give a plan.
TEST(Heads, SinkhornStaysFinite) {
  const EigenMatrix scores = as_eigen(random_matrix(30, 6, 1)) * 3000;
  const EigenMatrixD plan = sinkhorn_log_plan(scores, 1, 3);
  EXPECT_TRUE(plan.allFinite());
  EXPECT_LE((plan.array().exp().rowwise().sum() - 1).abs().maxCoeff(), 1e-9);
}

/// The definition, patch by patch and in double.
EigenVectorD brute_force_netvlad(const Matrix& patches, const NetVladWeights& w) {
  const auto score = as_eigen(w.score), centroids = as_eigen(w.centroids);
  const Eigen::Index clusters = w.score.rows(), channels = w.score.cols();
  EigenMatrixD v = EigenMatrixD::Zero(clusters, channels);
  for (int n = 0; n < patches.rows(); ++n) {
    const EigenVectorD x = as_eigen(patches.row(n)).cast<double>().normalized();
    EigenVectorD a = score.cast<double>() * x;
    if (!w.score_bias.empty()) a += as_eigen(w.score_bias).cast<double>();
    a = (a.array() - a.maxCoeff()).exp();
    a /= a.sum();
    for (Eigen::Index k = 0; k < clusters; ++k) {
      v.row(k) += a[k] * (x.transpose() - centroids.row(k).cast<double>());
    }
  }
  v.rowwise().normalize();
  EigenVectorD out(v.size());
  for (Eigen::Index k = 0; k < clusters; ++k) {
    for (Eigen::Index d = 0; d < channels; ++d) {
      out[w.channel_major ? d * clusters + k : k * channels + d] = v(k, d);
    }
  }
  return out.normalized();
}

TEST(NetVlad, EqualsItsDefinition) {
  const PatchFeatures features = random_features(37, 20);
  NetVladWeights weights;
  weights.score = random_matrix(5, 20, 1);
  weights.centroids = to_matrix(as_eigen(random_matrix(5, 20, 2)) * 0.2f);
  for (const bool channel_major : {false, true}) {
    for (const bool bias : {false, true}) {
      weights.channel_major = channel_major;
      weights.score_bias = bias ? to_vector(EigenVector::Random(5)) : Vector();
      weights.whitening = {};
      const EigenVectorD expected = brute_force_netvlad(features.patches, weights);
      const auto close = [&](const EigenVectorD& truth) {
        const auto head = make_netvlad(weights);
        ASSERT_EQ(head->dim(), truth.size());
        const EigenVector actual = as_eigen(head->aggregate(features));
        EXPECT_LE((actual.cast<double>() - truth).cwiseAbs().maxCoeff(), 3e-7);
      };
      close(expected);
      const Matrix w = random_matrix(7, 100, 4);
      const Vector b = to_vector(EigenVector::Random(7));
      const EigenVectorD whitened =
          (as_eigen(w).cast<double>() * expected + as_eigen(b).cast<double>()).normalized();
      weights.whitening = {w, b, false};
      close(whitened);
      weights.whitening = {to_matrix(as_eigen(w).transpose()), b, true};
      close(whitened);
    }
  }
}

TEST(NetVlad, PartsThatDoNotFit) {
  const auto refused = [](auto change, const std::string& words) {
    NetVladWeights weights;
    weights.score = weights.centroids = Matrix(3, 4, 1.0f);
    change(weights);
    const std::string text = message_of([&] { make_netvlad(weights); });
    EXPECT_TRUE(contains(text, words)) << text;
  };
  refused([](auto& w) { w.centroids = Matrix(3, 5, 1.0f); }, "centroids are 3x5, the scores 3x4");
  refused([](auto& w) { w.score_bias = Vector(2, 1.0f); }, "2 biases for 3 clusters");
  refused([](auto& w) { w.whitening = {Matrix(2, 11, 1.0f), Vector(2, 1.0f), false}; }, "takes 11");
  refused([](auto& w) { w.whitening = {Matrix(2, 12, 1.0f), Vector(2, 1.0f), true}; }, "takes 2 ");
  refused([](auto& w) { w.score = w.centroids = Matrix(); }, "at least one cluster");
}

TEST(NetVlad, VocabulariesThatAreRefused) {
  const EigenMatrix identity = EigenMatrix::Identity(3, 4), ones = EigenMatrix::Ones(2, 4);
  const Matrix centres = to_matrix(identity), one_centre = to_matrix(identity.topRows(1));
  EXPECT_THROW(netvlad_of_vocabulary(centres, 0), std::invalid_argument);
  EXPECT_THROW(netvlad_of_vocabulary(Matrix(3, 4), 1), std::invalid_argument);
  EXPECT_THROW(netvlad_alpha(ones, one_centre), std::invalid_argument);
  EXPECT_THROW(netvlad_alpha(EigenMatrix::Ones(2, 5), centres), std::invalid_argument);
  // Both of these lie between all centres.
  EXPECT_THROW(netvlad_alpha(ones, centres), std::invalid_argument);
  // Cosines 1 and 0: the best centre gets a hundred times the weight of the next.
  EXPECT_NEAR(std::exp(netvlad_alpha(identity, centres)), 100, 1e-9);
}

TensorMap matlab_vgg() {
  return {{"net.layers.0.weights.0", zeros({3, 3, 3, 2}, 0.1f)},
          {"net.layers.0.weights.1", zeros({1, 2})},
          {"net.layers.2.weights.0", zeros({3, 3, 2, 2}, 0.1f)},
          {"net.layers.2.weights.1", zeros({1, 2})},
          {"net.layers.4.weights.0", zeros({2, 3}, 1)},
          {"net.layers.4.weights.1", zeros({2, 3}, 1)},
          {"net.meta.normalization.averageImage", make_tensor({1, 1, 3}, {1, 2, 3.5f})}};
}

TEST(MatconvnetVgg, AnyDepth) {
  const TensorFile file("net.mat", WeightFormat::matlab, matlab_vgg());
  EXPECT_EQ(infer_architecture(file), "vgg");
  const TensorFile converted = convert_matconvnet_vgg(file);
  EXPECT_EQ(converted.names(),
            (std::vector<std::string>{
                "features.0.bias", "features.0.weight", "features.2.bias", "features.2.weight"}));
  EXPECT_EQ(converted.metadata().at("mean"), "1 2 3.5");
  const auto head = matconvnet_head(file);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->vlad, "net.layers.4.weights");
  EXPECT_EQ(head->whitening, "");
  EXPECT_EQ(read_netvlad(file)->dim(), 6);
  TensorMap wrong = matlab_vgg();
  wrong["net.layers.4.weights.1"] = zeros({3, 2});
  weights_test::expect_error(
      [&] {
        read_netvlad({"net.mat", WeightFormat::matlab, wrong});
      },
      "net.mat",
      "[2, 3]");
}

// The large products of heads are split the same way for any number of cores.
TEST(RowBlocks, SameBitsOnAnyNumberOfCores) {
  const EigenMatrix w = as_eigen(random_matrix(3000, 70, 1));
  const EigenVector x = as_eigen(random_matrix(1, 70, 2)).row(0);
  const EigenVector y = as_eigen(random_matrix(1, 3000, 3)).row(0);
  const EigenVectorD wx = w.cast<double>() * x.cast<double>();
  const EigenVectorD wty = w.cast<double>().transpose() * y.cast<double>();
  EigenVector first[2];
  for (const int cores : {1, 2, 3}) {
    set_thread_cores(cores);
    const EigenVector a = times_vector(w, x), b = transposed_times_vector(w, y);
    if (cores == 1) first[0] = a, first[1] = b;
    EXPECT_EQ(a, first[0]);
    EXPECT_EQ(b, first[1]);
    EXPECT_LE((a.cast<double>() - wx).cwiseAbs().maxCoeff(), 1e-4);
    EXPECT_LE((b.cast<double>() - wty).cwiseAbs().maxCoeff(), 1e-3);
  }
  set_thread_cores(0);
}

TEST(RowBlocks, EveryRowOnceAndExceptionsGetOut) {
  std::vector<int> seen(1000);
  for_row_blocks(1000, 64, [&](Eigen::Index first, Eigen::Index count) {
    for (Eigen::Index i = first; i < first + count; ++i) ++seen[i];
  });
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  EXPECT_THROW(for_row_blocks(10, 1, [](auto, auto) { throw std::runtime_error("x"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace ria
