// SPDX-License-Identifier: MIT
// `ria` and weights that are missing, damaged or there.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/cli_fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

TEST_F(CliTest, MissingWeightsSayHowToAddThem) {
  pictures();
  refused(1,
          {"describe", "pictures", "--out", "x.npy", "--method", "resnet50-gem"},
          {"resnet50", (cache_ / "weights" / "resnet50.safetensors").string(), "./run weights"});
  refused(1, {"demo", "--places", "2"}, {"resnet50", "./run weights"});
  const Args describe = {"describe", "pictures", "--out", "x.npy", "--method", "resnet50-gem"};
  refused(1, describe + Args{"--weights", "nowhere.safetensors"}, {"nowhere.safetensors"});
  spill(folder_ / "text.safetensors", "no weights");
  refused(1, describe + Args{"--weights", "text.safetensors"}, {"text.safetensors", "expected"});
}

TEST_F(CliTest, DamagedWeightsInTheCacheAreNamed) {
  pictures();
  const fs::path file = cache_ / "weights" / "resnet50.safetensors";
  const Args describe = {"describe", "pictures", "--out", "x.npy", "--method", "resnet50-ria"};
  spill(file, "half a download");
  refused(1, describe, {"resnet50.json", "missing", "./run weights"});
  spill(cache_ / "weights" / "resnet50.json", "{");
  refused(1, describe, {"resnet50.json", "damaged", "./run weights"});
  spill(cache_ / "weights" / "resnet50.json", R"({"sha256": "00"})");
  refused(1, describe, {file.string(), "corrupted", "sha256", "./run weights"});
  EXPECT_NE(works({"weights", "list"}).find("corrupted"), std::string::npos);
}

TEST_F(CliTest, WeightFilesThatAreNoneAreRefused) {
  spill(folder_ / "text.pth", "no weights");
  for (const std::string action : {"info", "add"}) {
    refused(1, {"weights", action, "nowhere.pth"}, {"nowhere.pth"});
    refused(1, {"weights", action, "text.pth"}, {"text.pth", "expected"});
  }
  EXPECT_FALSE(fs::exists(cache_ / "weights"));
}

TEST_F(CliTest, RealWeightsFindAPictureAgain) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  at_.env.erase("XDG_CACHE_HOME");
  const std::string list = works({"weights", "list"});
  if (list.find("present: ") == std::string::npos) {
    GTEST_SKIP() << "weights resnet50 are not in " << (cache ? cache : "~/.cache")
                 << ": run ./run weights";
  }
  const Args small = {"--method", "resnet50-ria", "--longest_side", "160"};
  works(Args{"index", "build", pictures(), "--out", "x.ria"} + small);
  const json answers = json::parse(works({"query", "x.ria", "pictures/p002.png", "--json"}));
  EXPECT_EQ(answers[0]["matches"][0]["place"], "p002.png");
  EXPECT_NEAR(answers[0]["matches"][0]["score"], 1.0, 1e-4);
}

}  // namespace
}  // namespace ria::cli_test
