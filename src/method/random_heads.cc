// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "method/random_tensors.h"

namespace ria {

namespace {

void add_netvlad(RandomTensors& to, int features, int dim) {
  constexpr int kClusters = 64;
  to.add("pool.conv.weight", {kClusters, features, 1, 1}, 1.0f);
  to.add("pool.centroids", {kClusters, features}, 0.05f);
  if (dim == kClusters * features) return;
  to.add("WPCA.0.weight", {dim, kClusters * features, 1, 1}, 0.01f);
  to.add("WPCA.0.bias", {dim}, 0.01f);
}

/// Positions are those of the pictures the system reads.
struct MixVprShape {
  int patches, channels, depth, rows;
};

void add_mixvpr(RandomTensors& to, const MixVprShape& shape, int dim) {
  for (int m = 0; m < shape.depth; ++m) {
    const std::string mixer = fmt::format("aggregator.mix.{}.mix.", m);
    to.norm(mixer + "0", shape.patches);
    to.linear(mixer + "1", shape.patches, shape.patches);
    to.linear(mixer + "3", shape.patches, shape.patches);
  }
  to.linear("aggregator.channel_proj", dim / shape.rows, shape.channels);
  to.linear("aggregator.row_proj", shape.rows, shape.patches);
}

constexpr int kVitB = 768;

void add_salad(RandomTensors& to, const std::string& root, int cluster_dim) {
  constexpr int kHidden = 512;
  to.linear(root + ".token_features.0", kHidden, kVitB);
  to.linear(root + ".token_features.2", 256, kHidden);
  for (const auto& [name, out] :
       {std::pair{".cluster_features", cluster_dim}, std::pair{".score", 64}}) {
    to.convolution(fmt::format("{}{}.0", root, name), kHidden, kVitB, 1, true);
    to.convolution(fmt::format("{}{}.3", root, name), out, kHidden, 1, true);
  }
  to.add(root + ".dust_bin", {}, 0, 1);
}

void add_megaloc(RandomTensors& to, int dim) {
  add_salad(to, "aggregator.agg", 256);
  to.linear("aggregator.linear", dim, 256 + 256 * 64);
}

void add_attention(RandomTensors& to, const std::string& name, int dim) {
  to.add(name + ".in_proj_weight", {3 * dim, dim}, 1 / std::sqrt(static_cast<float>(dim)));
  to.add(name + ".in_proj_bias", {3 * dim}, 0.02f);
  to.linear(name + ".out_proj", dim, dim);
}

void add_encoder_layer(RandomTensors& to, const std::string& name, int dim, int hidden) {
  add_attention(to, name + ".self_attn", dim);
  to.linear(name + ".linear1", hidden, dim);
  to.linear(name + ".linear2", dim, hidden);
  to.norm(name + ".norm1", dim);
  to.norm(name + ".norm2", dim);
}

void add_boq(RandomTensors& to, int features, int dim) {
  constexpr int kQueries = 64, kBags = 2, kRows = 32;
  const int channels = dim / kRows;
  to.convolution("aggregator.proj_c", channels, features, 3, true);
  to.norm("aggregator.norm_input", channels);
  for (int b = 0; b < kBags; ++b) {
    const std::string bag = fmt::format("aggregator.boqs.{}.", b);
    add_encoder_layer(to, bag + "encoder", channels, 4 * channels);
    to.add(bag + "queries", {1, kQueries, channels}, 1);
    add_attention(to, bag + "self_attn", channels);
    to.norm(bag + "norm_q", channels);
    add_attention(to, bag + "cross_attn", channels);
    to.norm(bag + "norm_out", channels);
  }
  to.linear("aggregator.fc", kRows, kBags * kQueries);
}

void add_cross_image(RandomTensors& to) {
  for (int i = 0; i < 2; ++i) {
    add_encoder_layer(to, fmt::format("encoder.layers.{}", i), kVitB, 2048);
  }
}

void add_apgem(RandomTensors& to, int dim) {
  const std::string pca = "pca.Landmarks_clean.";
  to.add("adpool.p", {1}, 0, 3);
  to.linear("fc", dim, 2048);
  to.add(pca + "mean_", {dim}, 0.01f);
  to.add(pca + "components_", {dim, dim}, 1 / std::sqrt(static_cast<float>(dim)));
  to.add(pca + "explained_variance_", {dim}, 0.05f, 1);
}

void add_sfrs(RandomTensors& to, int dim) {
  constexpr int kClusters = 64, kChannels = 512;
  to.add("net_vlad.conv.weight", {kClusters, kChannels, 1, 1}, 1.0f);
  to.add("net_vlad.centroids", {kClusters, kChannels}, 0.05f);
  to.add("pca_layer.weight", {dim, kClusters * kChannels, 1, 1}, 0.01f);
  to.add("pca_layer.bias", {dim}, 0.01f);
}

void add_edtformer(RandomTensors& to, int dim) {
  constexpr int kQueries = 64, kRows = 16;
  to.linear("fc", kVitB, kVitB);
  to.add("queries", {1, kQueries, kVitB}, 1);
  for (int i = 0; i < 2; ++i) {
    const std::string layer = fmt::format("decoder.layers.{}.", i);
    add_attention(to, layer + "self_attn", kVitB);
    add_attention(to, layer + "multihead_attn", kVitB);
    to.norm(layer + "norm1", kVitB);
    to.norm(layer + "norm2", kVitB);
  }
  to.linear("channel_proj", dim / kRows, kVitB);
  to.linear("row_proj", kRows, kQueries);
}

void add_qaa(RandomTensors& to, int dim) {
  constexpr int kQueries = 256, kClusters = 64;
  for (const auto& [name, width] :
       {std::pair{"feature", dim / kClusters}, std::pair{"score", kVitB}}) {
    const std::string queries = fmt::format("aggregator.queries_{}.", name);
    to.add(queries + "queries", {1, kQueries, width}, 1);
    add_attention(to, queries + "self_attn", width);
    to.norm(queries + "norm_q", width);
  }
  add_attention(to, "aggregator.score.cross_attn", kVitB);
  to.norm("aggregator.score.norm_out", kVitB);
  to.add("aggregator.score.conv.weight", {kClusters, kVitB, 1}, 0.03f);
  to.add("aggregator.score.conv.bias", {kClusters}, 0.02f);
}

void add_selavpr(RandomTensors& to) {
  to.add("aggregation.1.p", {1}, 0, 3);
  to.add("LocalAdapt.upconv1.weight", {1024, 256, 3, 3}, 0.02f);
  to.add("LocalAdapt.upconv1.bias", {256}, 0.02f);
  to.add("LocalAdapt.upconv2.weight", {256, 128, 3, 3}, 0.04f);
  to.add("LocalAdapt.upconv2.bias", {128}, 0.02f);
}

void add_ria_ft(RandomTensors& to) {
  constexpr int kHeads = 4, kDim = 1024, kProjected = 64, kVector = 2080;
  for (int h = 0; h < kHeads; ++h) {
    const std::string head = fmt::format("heads.{}.", h);
    to.add(head + "projection.weight", {kProjected, kDim}, 0.03f);
    to.linear(head + "mlp.0", kVector / kHeads, kVector);
    to.linear(head + "mlp.2", kVector / kHeads, kVector / kHeads);
  }
}

int features_of(const std::string& backbone, const std::string& cut) {
  if (backbone.starts_with("dinov2")) return kVitB;
  if (backbone == "vgg16") return 512;
  const int last = backbone == "resnet18" ? 512 : 2048;
  return cut == "layer4" ? last : last / 2;
}

}  // namespace

void add_random_head(RandomTensors& to, const Method& method) {
  const std::string& head = method.aggregator;
  const int dim = method.dim, features = features_of(method.backbone, method.own.backbone.cut);
  const bool transformer = method.backbone.starts_with("dinov2");
  if (head == "cosplace") {
    to.add("aggregation.1.p", {1}, 0, 3);
    to.linear("aggregation.3", dim, features);
  }
  if (method.name == "sfrs") {
    add_sfrs(to, dim);
  } else if (head == "netvlad_head" || head == "netvlad_raw") {
    add_netvlad(to, features, dim);
  }
  if (head == "mixvpr" && transformer) {
    add_mixvpr(to, {16 * 16, kVitB, 2, 4}, dim);
  } else if (head == "mixvpr") {
    add_mixvpr(to, {20 * 20, 1024, 4, dim == 4096 ? 4 : 2}, dim);
  }
  if (head == "salad") add_salad(to, "aggregator", 128);
  if (head == "megaloc") add_megaloc(to, dim);
  if (head == "boq") add_boq(to, features, dim);
  if (head == "supervlad") to.add("aggregation.conv.weight", {5, kVitB, 1, 1}, 1);
  if (head == "supervlad_1") to.add("aggregation.conv.weight", {3, kVitB, 1, 1}, 1);
  if (head == "cricavpr") to.add("aggregation.1.p", {1}, 0, 3);
  if (has_cross_image(method)) add_cross_image(to);
  if (head == "convap") to.convolution("aggregator.channel_pool", dim / 4, features, 1, true);
  if (head == "apgem") add_apgem(to, dim);
  if (head == "edtformer") add_edtformer(to, dim);
  if (head == "qaa") add_qaa(to, dim);
  if (head == "selavpr") add_selavpr(to);
  if (head == "ria_ft") add_ria_ft(to);
}

}  // namespace ria
