// SPDX-License-Identifier: MIT
#include "weights/prefixes.h"

#include <gtest/gtest.h>

namespace ria {
namespace {

using Names = std::map<std::string, std::string>;

TensorFile file_of(const std::vector<std::string>& names) {
  TensorMap tensors;
  for (const std::string& name : names) tensors[name] = make_tensor({1}, {0.0f});
  return {"made.safetensors", WeightFormat::safetensors, std::move(tensors)};
}

TEST(Prefixes, EveryChainOfKnownWordsIsTakenOff) {
  for (const std::string prefix : {"",
                                   "module.",
                                   "backbone.model.",
                                   "module.backbone.model.",
                                   "backbone.",
                                   "model.",
                                   "module.model.",
                                   "backbone.dinov2.",
                                   "backbone.dino_model.",
                                   "backbone.net.",
                                   "base_model.base.",
                                   "model.backbone.model.",
                                   "encoder."}) {
    const TensorFile file = file_of({prefix + "a.weight", prefix + "b", "head.c"});
    Names expected{{"a.weight", prefix + "a.weight"}, {"b", prefix + "b"}};
    if (prefix.empty()) expected["head.c"] = "head.c";
    EXPECT_EQ(names_behind_prefix(file, {"a.weight", "b"}), expected) << prefix;
  }
}

TEST(Prefixes, AnUnknownWordOrAMissingProbeIsNoPrefix) {
  EXPECT_EQ(names_behind_prefix(file_of({"aggregator.a", "aggregator.b"}), {"a", "b"}), Names{});
  EXPECT_EQ(names_behind_prefix(file_of({"backbone.a"}), {"a", "b"}), Names{});
  EXPECT_EQ(names_behind_prefix(file_of({"backbonea", "backboneb"}), {"a", "b"}), Names{});
}

TEST(Prefixes, TheShortestWholePrefixWins) {
  const TensorFile file = file_of({"a", "model.a", "model.b", "module.model.a", "module.model.b"});
  EXPECT_EQ(names_behind_prefix(file, {"a", "b"}), (Names{{"a", "model.a"}, {"b", "model.b"}}));
}

}  // namespace
}  // namespace ria
