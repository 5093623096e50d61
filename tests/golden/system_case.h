// SPDX-License-Identifier: MIT
// A golden case of a whole system: pictures, a checkpoint with backbone and head, descriptors.
#pragma once

#include <array>

#include "backbone/vit.h"
#include "golden/head_case.h"
#include "ria/aggregator.h"

namespace ria {

class SystemCase : public HeadCase {
 protected:
  using HeadCase::HeadCase;

  /// The inputs that are pictures: "agg..." are feature maps for the head alone.
  std::vector<std::string> pictures() { return inputs_where(false); }
  std::vector<std::string> feature_maps() { return inputs_where(true); }

  /// The files that case.json names; those that are not there are left out.
  std::vector<std::filesystem::path> weights() {
    std::vector<std::filesystem::path> found;
    for (const auto& [file, meaning] : golden().info().at("weights").items()) {
      if (std::filesystem::exists(folder() / file)) {
        found.push_back(folder() / file);
      } else {
        leave_out(file);
      }
    }
    return found;
  }

  /// Whether the case promises the tensor, by a tolerance; a promise that is not kept is left out.
  bool promised(const std::string& key) {
    if (!golden().info().at("tolerance").contains(key)) return false;
    return has_output(key);
  }

  /// A DINOv2 whose tokens pass the final norm, or leave the last block as they are.
  static std::unique_ptr<Backbone> dinov2(const std::filesystem::path& weights, bool final_norm) {
    const TensorFile file = TensorFile::open(weights);
    BackboneOptions options;
    options.weights = weights.string();
    options.facet = Facet::kToken;
    options.final_norm = final_norm;
    options.layer = vit_shape(file, canonical_vit_names(file)).depth - 1;
    return make_backbone("dinov2", options);
  }

  static std::vector<PatchFeatures> features(const Backbone& network, const Tensor& images) {
    std::vector<PatchFeatures> all;
    for (std::int64_t b = 0; b < images.shape.at(0); ++b) {
      all.push_back(network.extract(pixels_of(images, b)));
    }
    return all;
  }

  /// The descriptors of pictures that were seen together.
  void expect_descriptors(const Aggregator& head,
                          const std::vector<PatchFeatures>& pictures,
                          const std::string& key) {
    if (!has_output(key)) return;
    EXPECT_EQ(head.dim(), output(key).shape.at(1));
    const std::vector<Descriptor> all = head.aggregate_together(pictures);
    ASSERT_EQ(std::ssize(all), output(key).shape.at(0));
    for (std::size_t b = 0; b < all.size(); ++b) {
      expect_descriptor(all[b], key, static_cast<std::int64_t>(b));
    }
  }

  /// [B, C, H, W] of the backbone, if the case has it.
  void expect_features(const std::vector<PatchFeatures>& pictures, const std::string& key) {
    if (!promised(key)) return;
    SCOPED_TRACE(key);
    const Tensor& expected = output(key);
    ASSERT_EQ(std::ssize(pictures), expected.shape.at(0));
    for (std::size_t b = 0; b < pictures.size(); ++b) {
      EXPECT_EQ(pictures[b].grid_height, expected.shape.at(2));
      expect_close(
          pictures[b].patches, rows_of_nchw(expected, static_cast<std::int64_t>(b)), atol(key));
    }
  }

  /// The tokens of the first picture behind so many blocks, if the case has them.
  void expect_tokens(const TensorFile& file,
                     int blocks,
                     const Pixels& picture,
                     const std::string& key) {
    if (!promised(key)) return;
    SCOPED_TRACE(key);
    VitOutput up_to;
    up_to.blocks = blocks;
    const Vit vit(file, up_to, Precision::kFp32);
    expect_close(vit.tokens(picture), item_rows(output(key), 0), atol(key));
  }

  /// Crops of image.png by the names of their batches, as case.json lists them.
  std::vector<std::pair<std::string, std::vector<Image>>> crops() {
    if (!std::filesystem::exists(folder() / "image.png")) {
      leave_out("image.png");
      return {};
    }
    const Image image = load_image(folder() / "image.png");
    std::vector<std::pair<std::string, std::vector<Image>>> all;
    for (const auto& [name, places] :
         golden().info().at("inputs").at("crops_[top,left,h,w]").items()) {
      all.push_back({name, {}});
      for (const std::array<int, 4> place : places) {
        const auto [top, left, height, width] = place;
        Image cut{height, width, {}};
        for (int y = top; y < top + height; ++y) {
          const auto row = image.rgb.begin() + (static_cast<long>(y) * image.width + left) * 3;
          cut.rgb.insert(cut.rgb.end(), row, row + 3L * width);
        }
        all.back().second.push_back(std::move(cut));
      }
    }
    return all;
  }

 private:
  std::vector<std::string> inputs_where(bool maps) {
    std::vector<std::string> names;
    for (const std::string& name : golden().inputs().names()) {
      if (name.starts_with("agg") == maps) names.push_back(name);
    }
    if (names.empty()) leave_out(maps ? "feature maps" : "pictures");
    return names;
  }
};

}  // namespace ria
