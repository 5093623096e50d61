// SPDX-License-Identifier: MIT
// Every network, file layout, input and stage that the case lists. A stage that is left out is not
// checked; an output that no network, input and stage leads to fails.
#include <gtest/gtest.h>

#include <set>

#include "backbone/resnet.h"
#include "golden/golden.h"
#include "golden/pixels.h"

namespace ria {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

Matrix rows_of(const FeatureMap& map) {
  return Eigen::Map<const Matrix>(
      map.hwc.data(), static_cast<Eigen::Index>(map.height) * map.width, map.channels);
}

TEST(ResNetGolden, EveryStageFromEveryLayout) {
  RIA_NEEDS_GOLDEN("resnet");
  const auto info = load_case("resnet");
  const auto folder = golden_dir() / "resnet";
  const TensorFile inputs = TensorFile::open(folder / "inputs.safetensors");
  const TensorFile outputs = TensorFile::open(folder / "outputs.safetensors");
  const std::vector<std::string> all = outputs.names();
  for (const auto& [pattern, meaning] : info.at("weights").items()) {
    std::set<std::string> reached;
    for (const auto& [name, config] : info.at("config").items()) {
      const TensorFile weights = TensorFile::open(folder / replaced(pattern, "<name>", name));
      ResNetPlan plan = plan_resnet(weights, 1 + static_cast<int>(config.at("layers").size()));
      const ConvNet net(std::move(plan.steps), plan.stage_tensors);
      for (const std::string& size : inputs.names()) {
        const auto maps = net.run(pixels_of(inputs.at(size)));
        for (std::size_t stage = 0; stage < maps.size(); ++stage) {
          const std::string layer = stage == 0 ? "stem" : "layer" + std::to_string(stage);
          const std::string key = name + "." + size + "." + layer;
          SCOPED_TRACE(weights.path().filename().string() + " " + key);
          if (!outputs.contains(key)) continue;
          const Tensor& expected = outputs.at(key);
          ASSERT_EQ(maps[stage].height, expected.shape[2]);
          ASSERT_EQ(maps[stage].width, expected.shape[3]);
          expect_close(rows_of(maps[stage]),
                       rows_of_nchw(expected, 0),
                       info.at("tolerance").at(key).at("atol").get<double>());
          reached.insert(key);
        }
      }
    }
    EXPECT_EQ(reached, std::set<std::string>(all.begin(), all.end())) << "from " << pattern;
  }
}

}  // namespace
}  // namespace ria
