// SPDX-License-Identifier: MIT
// `ria` and weights that are missing, damaged or there.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/fixture.h"
#include "support/loopback_server.h"
#include "tensor/safetensors.h"
#include "util/hash.h"

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

TEST_F(CliTest, ListSaysWhatIsMissingAndWhatIsThere) {
  write_safetensors(folder_ / "in", {{"a", make_tensor({2}, {1, 2})}});
  works({"weights", "add", "in", "--name", "mine"});
  const std::string text = works({"weights", "list"});
  const std::string present = "present: " + (cache_ / "weights" / "mine.safetensors").string();
  for (const std::string& part : {std::string("missing; get it with: ria weights get salad"),
                                  std::string("missing; get it with: ./run weights"),
                                  std::string("88.3 MB"),
                                  std::string("resnet50-ria, resnet50-riax, resnet50-gem"),
                                  present}) {
    EXPECT_NE(text.find(part), text.npos) << part;
  }
  const json list = json::parse(works({"weights", "list", "--json"}));
  ASSERT_EQ(list.size(), weight_sources().size() + 1);
  EXPECT_EQ(list[0]["name"], "resnet50");
  EXPECT_EQ(list[0]["methods"][0], "resnet50-ria");
  EXPECT_EQ(list[0]["present"], false);
  EXPECT_EQ(list.back()["name"], "mine");
  EXPECT_EQ(list.back()["present"], true);
}

TEST_F(CliTest, InfoListsTensorsAndTotals) {
  write_safetensors(folder_ / "in",
                    {{"a", make_tensor({2, 3}, {1, 2, 3, 4, 5, 6})},
                     {"b", make_tensor(DType::I64, {1}, std::vector<std::uint8_t>(8))}},
                    {{"author", "me"}});
  const json info = json::parse(works({"weights", "info", "in", "--json"}));
  EXPECT_EQ(info["parameters"], 7);
  EXPECT_EQ(info["bytes_by_dtype"], (json{{"F32", 24}, {"I64", 8}}));
  EXPECT_EQ(info["bytes"], fs::file_size(folder_ / "in"));
  EXPECT_EQ(info["sha256"], sha256_file(folder_ / "in"));
  EXPECT_EQ(info["metadata"]["author"], "me");
  EXPECT_EQ(info["tensors"][0],
            (json{{"name", "a"}, {"dtype", "F32"}, {"shape", {2, 3}}, {"bytes", 24}}));
  const std::string text = works({"weights", "info", "in"});
  for (const std::string part : {"parameters    7", "tensors       2", "[2, 3]", "24 bytes"}) {
    EXPECT_NE(text.find(part), text.npos) << part;
  }
}

TEST_F(CliTest, VerifyReportsAndExitsWithOne) {
  write_safetensors(folder_ / "good", {{"a", make_tensor({2}, {1, 2})}});
  write_safetensors(folder_ / "bad", {{"a", make_tensor({2}, {1, std::nanf("")})}});
  EXPECT_NE(works({"weights", "verify", "good"}).find("none to compare with"), std::string::npos);
  refused(1, {"weights", "verify", "bad"}, {"bad", "not finite", "a"});
  refused(1, {"weights", "verify", "good", "--name", "resnet50"}, {"good", "d244e060", "expected"});
  refused(1, {"weights", "verify", "nowhere"}, {"nowhere"});
  refused(1, {"weights", "verify", "resnet50"}, {"missing", "./run weights"});
  refused(2, {"weights", "verify", "good", "--precision", "int8"}, {"--pictures"});
  refused(2, {"weights", "verify", "good", "--method", "resnet50-ria"}, {"--precision"});
  const Args on = {"--pictures", pictures()};
  refused(2, Args{"weights", "verify", "good", "--precision", "fp7"} + on, {"fp7", "int8"});
  refused(2, Args{"weights", "verify", "good", "--precision", "int8"} + on, {"--method"});
  refused(2,
          Args{"weights", "verify", "good", "--precision", "int8", "--backbone", "x"} + on,
          {"backbone", "'x'"});
  refused(1,
          Args{"weights", "verify", "good", "--precision", "int8", "--method", "resnet50-ria"} + on,
          {"good"});
  EXPECT_EQ(json::parse(works({"weights", "verify", "good", "--json"}))["good"], true);
}

TEST_F(CliTest, PrecisionsAreComparedOnPictures) {
  write_safetensors(folder_ / "any", {{"a", make_tensor({2}, {1, 2})}});
  const Args command = {"weights",
                        "verify",
                        "any",
                        "--precision",
                        "int8",
                        "--pictures",
                        pictures("pictures", 3),
                        "--backbone",
                        "rootsift"};
  const json all = json::parse(works(command + Args{"--json"}));
  ASSERT_EQ(all["comparison"]["pictures"].size(), 3u);
  EXPECT_EQ(all["comparison"]["pictures"][1]["name"], "p001.png");
  EXPECT_NEAR(all["comparison"]["descriptor_worst"], 1, 1e-6);  // rootsift knows one precision
  EXPECT_NE(works(command).find("int8 against fp32 on 3 pictures"), std::string::npos);
}

class CliGet : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    write_safetensors(base_ / "published",
                      {{"a", make_tensor({50'000}, std::vector<float>(50'000, 0.5f))}});
    content_ = read_text(base_ / "published");
    at_.env["http_proxy"] = "http://127.0.0.1:9";
  }

  Args get(const std::string& name) const {
    return {"weights", "get", name, "--url", server_.url("/w.safetensors"), "--retries", "0"};
  }

  fs::path partial() const { return cache_ / "downloads" / "mine" / "w.safetensors.partial"; }

  static constexpr std::size_t kBroken = 30'000;
  std::string content_;
  bool stalls_ = false;
  LoopbackServer server_{
      [this](const HttpRequest& request, int number, HttpConnection& connection) {
        serve_file(
            request, connection, {content_}, stalls_ && number == 0 ? kBroken : std::string::npos);
        if (stalls_ && number == 0) connection.stall();
      }};
};

TEST_F(CliGet, DownloadsAndImports) {
  const Result result = ria(get("mine"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, (cache_ / "weights" / "mine.safetensors").string() + "\n");
  EXPECT_NE(result.err.find("downloading mine 200.1 kB/200.1 kB"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(cache_ / "downloads"));
  EXPECT_EQ(json::parse(works({"weights", "verify", "mine", "--json"}))["hash_matches"], true);
}

TEST_F(CliGet, RefusalsAreOneLine) {
  refused(1, get("resnet18-torchvision"), {"f37072fd", "expected"});
  refused(
      1, {"weights", "get", "mixvpr-4096"}, {"github.com/amaralibey/MixVPR", "ria weights add"});
  refused(1, {"weights", "get", "resnet50"}, {"./run weights"});
  refused(2, {"weights", "get", "nobody-knows"}, {"nobody-knows", "ria weights list"});
  refused(2, {"weights", "get", "mine", "--url", "file:///etc/passwd"}, {"url", "http"});
  refused(2, get("mine") + Args{"--sha256", "xyz"}, {"sha256", "xyz"});
  content_ = "<html>a page</html>";
  refused(1, get("mine"), {"web page"});
  EXPECT_FALSE(fs::exists(cache_ / "downloads"));
  EXPECT_FALSE(fs::exists(cache_ / "weights"));
}

TEST_F(CliGet, CtrlCKeepsTheBeginningForTheNextRun) {
  stalls_ = true;
  Program program(kProgram, get("mine"), at_);
  std::error_code none;
  for (int i = 0; i < 500 && fs::file_size(partial(), none) != kBroken; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_EQ(fs::file_size(partial(), none), kBroken);
  program.send(SIGINT);
  const Result result = program.wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("interrupted after 30000 of"), std::string::npos) << result.err;
  EXPECT_EQ(fs::file_size(partial()), kBroken);
  works(get("mine"));
  EXPECT_EQ(server_.requests()[1].header("range"), "bytes=30000-");
  EXPECT_FALSE(fs::exists(cache_ / "downloads"));
}

TEST_F(CliGet, FullDiskIsNamed) {
  at_.file_size_limit = 50'000;
  refused(1, get("mine"), {partial().string(), "too large"});
  EXPECT_EQ(fs::file_size(partial()), 50'000u);
  at_.file_size_limit = RLIM_INFINITY;
  works(get("mine"));
  EXPECT_EQ(server_.requests()[1].header("range"), "bytes=50000-");
}

TEST_F(CliTest, RealWeightsFindAPictureAgain) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  at_.env.erase("XDG_CACHE_HOME");
  const std::string list = works({"weights", "list"});
  if (list.find("/resnet50.safetensors") == std::string::npos) {
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
