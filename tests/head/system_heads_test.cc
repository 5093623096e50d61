// SPDX-License-Identifier: MIT
// Heads of whole systems: laws of the encoders across pictures, windows, and what is refused.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "head/heads.h"
#include "ria/eigen.h"
#include "support/error_message.h"
#include "support/weights_fixture.h"

namespace ria {
namespace {

using Read = std::unique_ptr<Aggregator> (*)(const TensorFile&);

/// Tensors of random values, added by the layers they belong to.
class Tensors {
 public:
  void add(const std::string& name, const std::vector<std::int64_t>& shape, float mean = 0) {
    std::int64_t size = 1;
    for (const std::int64_t n : shape) size *= n;
    std::normal_distribution<float> normal(mean, 0.3f);
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = normal(engine_);
    map_[name] = make_tensor(shape, values);
  }
  void linear(const std::string& name, int out, int in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void norm(const std::string& name, int dim) {
    add(name + ".weight", {dim}, 1);
    add(name + ".bias", {dim});
  }
  void attention(const std::string& name, int dim) {
    add(name + ".in_proj_weight", {3 * dim, dim});
    add(name + ".in_proj_bias", {3 * dim});
    linear(name + ".out_proj", dim, dim);
  }
  void encoder(const std::string& name, int dim) {
    attention(name + ".self_attn", dim);
    linear(name + ".linear1", 2 * dim, dim);
    linear(name + ".linear2", dim, 2 * dim);
    norm(name + ".norm1", dim);
    norm(name + ".norm2", dim);
  }
  void one(const std::string& name, float value) { map_[name] = make_tensor({1}, {value}); }

  const TensorMap& map() const { return map_; }

 private:
  std::mt19937 engine_{7};
  TensorMap map_;
};

constexpr int kDim = 16;  // of all features here: one channel for each of 16 heads

struct HeadFile {
  std::string name;
  Read read;
  TensorMap tensors;
  int channels = kDim;
};

HeadFile supervlad() {
  Tensors t;
  t.add("aggregation.conv.weight", {4, kDim, 1, 1});
  for (const char* layer : {"encoder.layers.0", "encoder.layers.1"}) t.encoder(layer, kDim);
  return {"SuperVLAD", [](const TensorFile& f) { return read_supervlad(f); }, t.map()};
}

HeadFile cricavpr() {
  Tensors t;
  t.one("aggregation.1.p", 2.5f);
  t.encoder("encoder.layers.0", kDim);
  return {"CricaVPR", read_cricavpr, t.map()};
}

HeadFile boq() {
  Tensors t;
  t.add("aggregator.proj_c.weight", {8, kDim, 3, 3});
  t.add("aggregator.proj_c.bias", {8});
  t.norm("aggregator.norm_input", 8);
  t.add("aggregator.boqs.0.queries", {1, 5, 8});
  t.encoder("aggregator.boqs.0.encoder", 8);
  t.attention("aggregator.boqs.0.self_attn", 8);
  t.norm("aggregator.boqs.0.norm_q", 8);
  t.attention("aggregator.boqs.0.cross_attn", 8);
  t.norm("aggregator.boqs.0.norm_out", 8);
  t.linear("aggregator.fc", 3, 5);
  return {"BoQ", read_boq, t.map()};
}

HeadFile convap() {
  Tensors t;
  t.add("aggregator.channel_pool.weight", {6, kDim, 1, 1});
  t.add("aggregator.channel_pool.bias", {6});
  return {"Conv-AP", [](const TensorFile& f) { return read_convap(f); }, t.map()};
}

HeadFile apgem() {
  Tensors t;
  t.one("adpool.p", 3);
  t.linear("fc", 6, kDim);
  t.add("pca.Landmarks_clean.mean_", {6});
  t.add("pca.Landmarks_clean.components_", {5, 6});
  t.add("pca.Landmarks_clean.explained_variance_", {5}, 3);
  return {"AP-GeM", [](const TensorFile& f) { return read_apgem(f); }, t.map()};
}

HeadFile edtformer() {
  Tensors t;
  t.linear("fc", kDim, kDim);
  t.add("queries", {1, 5, kDim});
  for (const std::string layer : {"decoder.layers.0.", "decoder.layers.1."}) {
    t.attention(layer + "self_attn", kDim);
    t.attention(layer + "multihead_attn", kDim);
    t.norm(layer + "norm1", kDim);
    t.norm(layer + "norm2", kDim);
  }
  t.linear("channel_proj", 4, kDim);
  t.linear("row_proj", 3, 5);
  return {"EDTformer", read_edtformer, t.map()};
}

HeadFile qaa() {
  Tensors t;
  for (const std::string queries : {"aggregator.queries_feature.", "aggregator.queries_score."}) {
    t.add(queries + "queries", {1, 7, kDim});
    t.attention(queries + "self_attn", kDim);
    t.norm(queries + "norm_q", kDim);
  }
  t.attention("aggregator.score.cross_attn", kDim);
  t.norm("aggregator.score.norm_out", kDim);
  t.add("aggregator.score.conv.weight", {3, kDim, 1});
  t.add("aggregator.score.conv.bias", {3});
  return {"QAA", [](const TensorFile& f) { return read_qaa(f); }, t.map()};
}

std::vector<HeadFile> heads() {
  return {supervlad(), cricavpr(), boq(), convap(), apgem(), edtformer(), qaa()};
}

TensorFile file_of(TensorMap tensors) {
  return {"head.pth", WeightFormat::torch, std::move(tensors)};
}

/// A grid of 12 x 13 patches, enough for every head.
PatchFeatures picture(unsigned seed) {
  std::srand(seed);
  return {
      to_matrix(EigenMatrix::Random(12 * 13, kDim)), 12, 13, to_vector(EigenVector::Random(kDim))};
}

double difference(const Descriptor& a, const Descriptor& b) {
  return (as_eigen(a) - as_eigen(b)).cwiseAbs().maxCoeff();
}

TEST(SystemHeads, EveryTensorIsChecked) {
  for (const HeadFile& head : heads()) {
    SCOPED_TRACE(head.name);
    EXPECT_NO_THROW(head.read(file_of(head.tensors)));
    const auto refused = [&](const TensorMap& tensors, const std::string& words) {
      weights_test::expect_error([&] { head.read(file_of(tensors)); }, "head.pth", words);
    };
    refused({{"other", make_tensor({1}, {1})}}, "holds no " + head.name);
    for (const auto& [name, tensor] : head.tensors) {
      SCOPED_TRACE(name);
      TensorMap tensors = head.tensors;
      std::vector<float> values = tensor.floats();
      values.back() = std::numeric_limits<float>::quiet_NaN();
      tensors[name] = make_tensor(tensor.shape, values);
      refused(tensors, "tensor " + name + " holds NaN or infinity");
      tensors[name] = make_tensor({2, 3, 4}, std::vector<float>(24, 1.0f));
      refused(tensors, "tensor " + name + " is [2, 3, 4], [");
      tensors.erase(name);
      // The encoder across pictures is not in every file; of AP-GeM's whitening all is needed.
      if (head.name == "SuperVLAD" && name.find("encoder.layers") == 0) continue;
      refused(tensors,
              head.name == "AP-GeM" && name.find("components_") != name.npos ? "whitening of AP-GeM"
                                                                             : name);
    }
  }
}

TEST(SystemHeads, WidthsMustFit) {
  for (const HeadFile& head : heads()) {
    SCOPED_TRACE(head.name);
    const auto aggregator = head.read(file_of(head.tensors));
    const Descriptor right = aggregator->aggregate(picture(1));
    EXPECT_EQ(std::ssize(right), aggregator->dim());
    EXPECT_NEAR(as_eigen(right).norm(), 1, 1e-5);
    PatchFeatures wide = picture(1);
    wide.patches = Matrix(12 * 13, kDim + 1, 1.0f);
    EXPECT_THROW(aggregator->aggregate(wide), std::invalid_argument);
    PatchFeatures broken = picture(1);
    broken.patches(4, 2) = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(aggregator->aggregate(broken), std::invalid_argument);
  }
}

TEST(CrossImage, PicturesSeenTogetherChangeEachOther) {
  for (const HeadFile& file : {supervlad(), cricavpr()}) {
    SCOPED_TRACE(file.name);
    const auto head = file.read(file_of(file.tensors));
    const std::vector<PatchFeatures> all{picture(1), picture(2), picture(3)};
    const auto together = head->aggregate_together(all);
    EXPECT_GT(difference(together[0], head->aggregate(all[0])), 1e-3);
    // Their order does not matter.
    const std::vector<PatchFeatures> turned{all[2], all[0], all[1]};
    const auto other = head->aggregate_together(turned);
    EXPECT_LE(difference(together[0], other[1]), 1e-6);
    EXPECT_LE(difference(together[2], other[0]), 1e-6);
    // A picture beside copies of itself is as if it were alone.
    const std::vector<PatchFeatures> copies(4, all[1]);
    EXPECT_LE(difference(head->aggregate_together(copies)[2], head->aggregate(all[1])), 1e-6);
  }
}

TEST(CrossImage, HeadsWithoutItTakePicturesOneByOne) {
  const auto head = read_boq(file_of(boq().tensors));
  const std::vector<PatchFeatures> all{picture(1), picture(2)};
  const auto together = head->aggregate_together(all);
  EXPECT_EQ(together[0], head->aggregate(all[0]));
  EXPECT_EQ(together[1], head->aggregate(all[1]));
}

TEST(SystemHeads, CricaVprNeedsAGridForItsRegions) {
  const auto head = read_cricavpr(file_of(cricavpr().tensors));
  PatchFeatures small = picture(1);
  small.grid_height = 13 * 12 / 2;
  small.grid_width = 2;
  const std::string text = message_of([&] { head->aggregate(small); });
  EXPECT_TRUE(contains(text, "78x2 patches, CricaVPR needs more than 11 each way")) << text;
}

TEST(SystemHeads, ConvApMeansOverOverlappingWindows) {
  const HeadFile file = convap();
  const ConvApOptions windows{2, 5};
  const auto head = read_convap(file_of(file.tensors), windows);
  const PatchFeatures features = picture(4);
  const auto weight = file.tensors.at("aggregator.channel_pool.weight").doubles();
  const auto bias = file.tensors.at("aggregator.channel_pool.bias").doubles();
  EigenVectorD expected(6 * 2 * 5);
  for (int c = 0; c < 6; ++c) {
    for (int r = 0; r < 2; ++r) {
      for (int s = 0; s < 5; ++s) {
        double sum = 0;
        int cells = 0;
        // torch: from floor(i n / s) to ceil((i + 1) n / s).
        for (int y = r * 12 / 2; y < (r + 1) * 12 / 2; ++y) {
          for (int x = s * 13 / 5; x < ((s + 1) * 13 + 4) / 5; ++x, ++cells) {
            for (int k = 0; k < kDim; ++k) {
              sum += weight[c * kDim + k] * features.patches(y * 13 + x, k);
            }
          }
        }
        expected[(c * 2 + r) * 5 + s] = sum / cells + bias[c];
      }
    }
  }
  const Descriptor actual = head->aggregate(features);
  EXPECT_LE((as_eigen(actual).cast<double>() - expected.normalized()).cwiseAbs().maxCoeff(), 1e-6);
}

}  // namespace
}  // namespace ria
