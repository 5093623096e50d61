// SPDX-License-Identifier: MIT
#include <regex>

#include "golden/system_case.h"
#include "head/heads.h"

namespace ria {
namespace {

class ConvApGolden : public SystemCase {
 protected:
  ConvApGolden() : SystemCase("convap") {}

  static ConvApOptions windows(const nlohmann::json& config) {
    return {config.at("s1"), config.at("s2")};
  }

  /// The size that the meaning of an output says its picture is resized to first.
  std::optional<std::array<int, 2>> resized_to(const std::string& key) const {
    const std::string meaning = golden().info().at("outputs").value(key, "");
    std::smatch match;
    if (!std::regex_search(meaning, match, std::regex("to (\\d+)x(\\d+)"))) return std::nullopt;
    return std::array<int, 2>{std::stoi(match[1]), std::stoi(match[2])};
  }
};

TEST_F(ConvApGolden, NetworkAndHead) {
  const auto file =
      golden().weights_where([](const TensorFile& f) { return f.names().size() > 2; });
  if (!file) return leave_out("a checkpoint");
  const auto network = backbone("resnet", file->path(), "layer4");
  const auto head = read_convap(*file, windows(config()));
  EXPECT_EQ(head->dim(), config().at("descriptor"));
  for (const std::string& key : pictures()) {
    SCOPED_TRACE(key);
    std::vector<PatchFeatures> all;
    for (std::int64_t b = 0; b < input(key).shape[0]; ++b) {
      Pixels pixels = pixels_of(input(key), b);
      if (const auto size = resized_to(key + ".out")) {
        pixels = resize_pixels(pixels, (*size)[0], (*size)[1], Resize::kTensorBilinearAa);
      }
      all.push_back(network->extract(pixels));
    }
    expect_features(all, key + ".layer4");
    expect_descriptors(*head, all, key + ".out");
  }
}

TEST_F(ConvApGolden, HeadAlone) {
  const auto file =
      golden().weights_where([](const TensorFile& f) { return f.names().size() == 2; });
  if (!file || feature_maps().empty()) return leave_out("a head alone");
  const auto head = read_convap(*file, windows(config().at("agg")));
  for (const std::string& key : feature_maps()) {
    std::vector<PatchFeatures> all;
    for (std::int64_t b = 0; b < input(key).shape[0]; ++b) {
      all.push_back(features_of(input(key), b));
    }
    expect_descriptors(*head, all, key + ".out");
  }
}

}  // namespace
}  // namespace ria
