// SPDX-License-Identifier: MIT
// AP-GeM from a file that carries its whitening as a pickled PCA.
#include <fmt/format.h>

#include "golden/system_case.h"
#include "head/heads.h"

namespace ria {
namespace {

class ApGemGolden : public SystemCase {
 protected:
  ApGemGolden() : SystemCase("apgem") {}

  std::filesystem::path checkpoint() const {
    return folder() / config().at("file").get<std::string>();
  }
};

TEST_F(ApGemGolden, TheFittedPcaIsReadAsData) {
  if (!std::filesystem::exists(checkpoint())) return leave_out("the checkpoint");
  const auto path = folder() / "pca.safetensors";
  if (!std::filesystem::exists(path)) return leave_out("pca.safetensors");
  const TensorFile file = TensorFile::open(checkpoint()), expected = TensorFile::open(path);
  for (const std::string& name : expected.names()) {
    SCOPED_TRACE(name);
    const std::string field = name.substr(name.rfind('.') + 1);
    const Tensor* found = nullptr;
    for (const auto& [own, tensor] : file.tensors()) {
      if (own.starts_with("pca.") && own.ends_with("." + field)) found = &tensor;
    }
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->shape, expected.at(name).shape);
    EXPECT_EQ(found->doubles(), expected.at(name).doubles());
  }
}

TEST_F(ApGemGolden, NetworkHeadAndWhitening) {
  if (!std::filesystem::exists(checkpoint())) return leave_out("the checkpoint");
  const TensorFile file = TensorFile::open(checkpoint());
  const auto network = backbone("resnet", checkpoint(), "layer4");
  const ApGemOptions raw{false, 0.25, 0}, usual;
  EXPECT_EQ(usual.power, config().at("vprme_whitening").at("whitenp"));
  const int kept = config().at("whitenv");
  GemOptions gem;
  gem.normalize_patches = false;
  gem.p = config().at("gem_p");
  for (const std::string& key : pictures()) {
    const auto all = features(*network, input(key));
    expect_features(all, key + ".layer4");
    for (std::size_t b = 0; has_output(key + ".gem") && b < all.size(); ++b) {
      expect_close(gem_pool(all[b].patches, gem),
                   row_of(output(key + ".gem"), static_cast<std::int64_t>(b)),
                   atol(key + ".gem"));
    }
    expect_descriptors(*read_apgem(file, raw), all, key + ".descriptor");
    expect_descriptors(*read_apgem(file), all, key + ".whitened_p025");
    expect_descriptors(
        *read_apgem(file, {true, 0.5, kept}), all, fmt::format("{}.whitened_p05_v{}", key, kept));
  }
}

}  // namespace
}  // namespace ria
