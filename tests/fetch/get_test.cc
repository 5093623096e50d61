// SPDX-License-Identifier: MIT
// The table of published weights, and the way from an address to the cache.
#include <nlohmann/json.hpp>
#include <set>

#include "fetch/sources.h"
#include "support/cache_in.h"
#include "support/error_message.h"
#include "support/loopback_server.h"
#include "support/weights_fixture.h"
#include "tensor/safetensors.h"
#include "util/hash.h"

namespace ria::weights_test {
namespace {

using nlohmann::json;

TEST(WeightSources, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const WeightSource& source : weight_sources()) {
    SCOPED_TRACE(source.name);
    EXPECT_TRUE(names.insert(source.name).second);
    EXPECT_NO_THROW(check_weights_name(source.name));
    for (const std::string& text :
         {source.architecture, source.source, source.licence, source.how_to_add}) {
      EXPECT_FALSE(text.empty());
    }
    EXPECT_TRUE(source.url.empty() || source.url.starts_with("https://"));
    EXPECT_EQ(source.url.empty(), !source.how_to_add.starts_with("ria weights get"));
    for (const std::string& hash : {source.sha256, source.published_sha256}) {
      EXPECT_TRUE(hash.empty() || hash.size() == 8 || hash.size() == 64);
      EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), hash.npos);
    }
    // torchvision writes the first digits into the name.
    if (source.published_sha256.size() == 8) {
      EXPECT_TRUE(contains(source.url, "-" + source.published_sha256 + ".pth"));
    }
  }
  for (const std::string name : {"dinov2-vits14",
                                 "dinov2-vitb14-reg",
                                 "dinov2-vitl14",
                                 "dinov2-vitg14",
                                 "dino-vits8",
                                 "dino-vitb16",
                                 "resnet50",
                                 "resnet18-torchvision",
                                 "resnet152-torchvision",
                                 "salad",
                                 "mixvpr-4096",
                                 "selavpr-msls",
                                 "cosplace-resnet50-512",
                                 "netvlad-pitts30k",
                                 "anyloc-urban"}) {
    EXPECT_NE(find_source(name), nullptr) << name;
  }
  EXPECT_EQ(find_source("dino-vits8")->url,
            "https://dl.fbaipublicfiles.com/dino/dino_deitsmall8_pretrain/"
            "dino_deitsmall8_pretrain.pth");
  EXPECT_EQ(find_source("dinov2-vitg14-reg")->url,
            "https://dl.fbaipublicfiles.com/dinov2/dinov2_vitg14/dinov2_vitg14_reg4_pretrain.pth");
  EXPECT_EQ(find_source("cosplace-resnet101-2048")->url,
            "https://github.com/gmberton/CosPlace/releases/download/v1.0/"
            "ResNet101_2048_cosplace.pth");
}

class GetWeights : public Weights {
 protected:
  GetWeights() {
    write_safetensors(file("published"), sample_tensors());
    content_ = read_text(file("published"));
    fs::remove(file("published"));
    options_.url = server_.url("/some/file%20(1).pth?download=true");
    options_.retries = 0;
  }

  bool cache_is_empty() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) return false;
    }
    return !fs::exists(folder_ / "ria" / "downloads");
  }

  const CacheIn cache_{folder_};
  std::string content_;
  LoopbackServer server_{[this](const HttpRequest& request, int, HttpConnection& connection) {
    serve_file(request, connection, {content_});
  }};
  DownloadOptions options_;
};

TEST_F(GetWeights, FileIsImportedAndTheDownloadRemoved) {
  const fs::path got = get_weights("mine", options_);
  EXPECT_EQ(got, folder_ / "ria" / "weights" / "mine.safetensors");
  EXPECT_EQ(cached_weights("mine"), got);
  EXPECT_TRUE(same_tensors(TensorFile::open(got).tensors(), sample_tensors()));
  EXPECT_FALSE(fs::exists(folder_ / "ria" / "downloads"));
  const json record = json::parse(read_text(folder_ / "ria" / "weights" / "mine.json"));
  EXPECT_EQ(record["url"], options_.url);
  EXPECT_EQ(record["source"], "file-20-1-.pth");
  EXPECT_EQ(other_cached_weights(), std::vector<std::string>{"mine"});
}

TEST_F(GetWeights, PublishedFileCanBeKept) {
  options_.keep = file("kept.pth");
  options_.sha256 = sha256_text(content_);
  get_weights("mine", options_);
  EXPECT_EQ(read_text(file("kept.pth")), content_);
  EXPECT_FALSE(fs::exists(folder_ / "ria" / "downloads"));
}

TEST_F(GetWeights, AnotherFileThanThePublishedIsRefused) {
  const auto get = [&] { get_weights("resnet18-torchvision", options_); };
  expect_error(get, options_.url, "f37072fd");
  expect_error(get, sha256_text(content_), "expected");
  EXPECT_TRUE(cache_is_empty());
  // The pin of the imported file holds too.
  expect_error([&] { get_weights("resnet50", options_); }, options_.url, "not the published");
}

TEST_F(GetWeights, WebPageAndRubbishAreRefused) {
  content_ = "\n<!DOCTYPE html><html>Google Drive can't scan this file for viruses</html>";
  expect_error([&] { get_weights("mine", options_); }, options_.url, "web page");
  content_ = "rubbish";
  expect_error([&] { get_weights("mine", options_); }, options_.url, "expected");
  EXPECT_TRUE(cache_is_empty());
}

TEST_F(GetWeights, NameWithoutAnAddressSaysWhatToDo) {
  options_.url.clear();
  expect_error([&] { get_weights("mixvpr-4096", options_); },
               "https://github.com/amaralibey/MixVPR",
               "ria weights add");
  expect_error([&] { get_weights("resnet50", options_); }, "npm", "./run weights");
  EXPECT_THROW(get_weights("nobody-knows", options_), std::invalid_argument);
  EXPECT_THROW(get_weights("../up", options_), std::invalid_argument);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(GetWeights, StateSaysWhatIsMissing) {
  const WeightsState missing = weights_state("dinov2-vits14");
  EXPECT_FALSE(missing.present || missing.damaged);
  EXPECT_EQ(missing.explanation, "missing; get it with: ria weights get dinov2-vits14");
  const std::string visit = weights_state("selavpr-msls").explanation;
  EXPECT_TRUE(contains(visit, "https://github.com/Lu-Feng/SelaVPR")) << visit;
  EXPECT_TRUE(contains(visit, "ria weights add")) << visit;
  get_weights("mine", options_);
  EXPECT_TRUE(weights_state("mine").present);
  spill(weights_state("mine").file, "damaged");
  EXPECT_TRUE(weights_state("mine").damaged);
}

}  // namespace
}  // namespace ria::weights_test
