// SPDX-License-Identifier: MIT
// Bag of Queries on both of its backbones.
#include "golden/system_case.h"
#include "head/heads.h"

namespace ria {
namespace {

class BoqGolden : public SystemCase {
 protected:
  using SystemCase::SystemCase;

  void check(const std::filesystem::path& file, const Backbone& network) {
    const auto head = read_boq(TensorFile::open(file));
    EXPECT_EQ(head->dim(), config().at("descriptor"));
    for (const std::string& key : pictures()) {
      const auto all = features(network, input(key));
      expect_features(all, key + ".features");
      expect_descriptors(*head, all, key + ".out");
    }
    for (const std::string& key : feature_maps()) {
      std::vector<PatchFeatures> all;
      for (std::int64_t b = 0; b < input(key).shape[0]; ++b) {
        all.push_back(features_of(input(key), b));
      }
      expect_descriptors(*head, all, key + ".out");
    }
  }
};

class BoqDinov2Golden : public BoqGolden {
 protected:
  BoqDinov2Golden() : BoqGolden("boq_dinov2") {}
};
class BoqResNetGolden : public BoqGolden {
 protected:
  BoqResNetGolden() : BoqGolden("boq_resnet50") {}
};

TEST_F(BoqDinov2Golden, FeaturesAndDescriptors) {
  for (const auto& file : weights()) check(file, *dinov2(file, false));
}

TEST_F(BoqResNetGolden, FeaturesAndDescriptors) {
  for (const auto& file : weights()) check(file, *backbone("resnet", file, "layer3"));
}

}  // namespace
}  // namespace ria
