// SPDX-License-Identifier: MIT
// Hashes that are kept, and the check that does not trust them.
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/cache_in.h"
#include "support/weights_fixture.h"
#include "tensor/safetensors.h"
#include "util/hash.h"

namespace ria::weights_test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class Hashes : public Weights {
 protected:
  /// A file last changed a minute ago: its hash is worth keeping.
  fs::path old_file(const std::string& name, const std::string& bytes) const {
    const fs::path path = write(name, bytes);
    fs::last_write_time(path, fs::last_write_time(path) - 1min);
    return path;
  }

  /// Other bytes of the same length in the same file, with the time of the old ones.
  static void tamper(const fs::path& path) {
    const auto time = fs::last_write_time(path);
    std::string bytes = read_text(path);
    bytes.back() ^= 1;
    spill(path, bytes);
    fs::last_write_time(path, time);
  }

  const CacheIn cache_{folder_};
  const fs::path kept_ = folder_ / "ria" / "hashes.json";
};

TEST_F(Hashes, UnchangedFileIsNotReadAgain) {
  const fs::path path = old_file("w", "some bytes");
  const std::string hash = file_sha256(path);
  EXPECT_EQ(hash, sha256_text("some bytes"));
  EXPECT_EQ(json::parse(read_text(kept_))[fs::canonical(path).string()]["sha256"], hash);
  tamper(path);
  EXPECT_EQ(file_sha256(path), hash);  // was not read
}

TEST_F(Hashes, ChangedFileIsReadAgain) {
  const fs::path path = old_file("w", "some bytes");
  const std::string hash = file_sha256(path);
  tamper(path);
  fs::last_write_time(path, fs::last_write_time(path) + 1ns);
  EXPECT_EQ(file_sha256(path), sha256_file(path));  // another time
  EXPECT_NE(file_sha256(path), hash);
  const auto time = fs::last_write_time(path);
  const std::string second = file_sha256(path);
  spill(path, "more bytes than before");
  fs::last_write_time(path, time);
  EXPECT_EQ(file_sha256(path), sha256_text("more bytes than before"));  // another size
  EXPECT_NE(file_sha256(path), second);
  spill(file("other"), "more bytes than befor_");
  fs::last_write_time(file("other"), time);
  fs::rename(file("other"), path);
  EXPECT_EQ(file_sha256(path), sha256_text("more bytes than befor_"));  // another inode
}

TEST_F(Hashes, FileWrittenJustNowIsNotTrusted) {
  const fs::path path = write("w", "some bytes");
  file_sha256(path);
  tamper(path);
  EXPECT_EQ(file_sha256(path), sha256_file(path));
}

TEST_F(Hashes, DamagedOrUnwritableKeepingDoesNoHarm) {
  const fs::path path = old_file("w", "some bytes");
  const std::string right = sha256_text("some bytes");
  const std::string key = fs::canonical(path).string();
  for (const std::string& text : {std::string("{"),
                                  std::string("[]"),
                                  json{{key, 7}}.dump(),
                                  json{{key, {{"size", "10"}, {"sha256", 3}}}}.dump()}) {
    spill(kept_, text);
    EXPECT_EQ(file_sha256(path), right) << text;
  }
  json entry = json::parse(read_text(kept_));
  entry[key]["sha256"] = "short";
  spill(kept_, entry.dump());
  EXPECT_EQ(file_sha256(path), right);
  fs::remove(kept_);
  fs::create_directories(kept_);  // cannot be written
  EXPECT_EQ(file_sha256(path), right);
  fs::remove(kept_);
  file_sha256(path);
  fs::remove(path);
  file_sha256(old_file("next", "x"));
  EXPECT_EQ(json::parse(read_text(kept_)).size(), 1u);  // what is gone is forgotten
  EXPECT_THROW(file_sha256(path), std::runtime_error);
}

TEST_F(Hashes, SetsOfFilesHashToTheHashOfTheirHashes) {
  write("set/a.bin", "first");
  write("set/b.bin", "second");
  const std::string a = sha256_text("first"), b = sha256_text("second");
  const fs::path tfjs =
      write("set/model.json", R"({"weightsManifest": [{"paths": ["b.bin", "a.bin"]}]})");
  EXPECT_EQ(weights_files(tfjs),
            (std::vector<fs::path>{tfjs, file("set/b.bin"), file("set/a.bin")}));
  EXPECT_EQ(file_sha256(tfjs), sha256_text(sha256_file(tfjs) + b + a));
  const std::string index = R"({"weight_map": {"x": "b.bin", "y": "a.bin", "z": "b.bin"}})";
  const fs::path sharded = write("set/model.safetensors.index.json", index);
  EXPECT_EQ(weights_files(sharded),
            (std::vector<fs::path>{sharded, file("set/a.bin"), file("set/b.bin")}));
  EXPECT_EQ(weights_files(file("set")), weights_files(sharded));
  EXPECT_EQ(file_sha256(file("set")), sha256_text(sha256_text(index) + a + b));
  fs::remove(sharded);
  EXPECT_EQ(weights_files(file("set")),
            (std::vector<fs::path>{file("set/a.bin"), file("set/b.bin"), tfjs}));
  write("set/model.safetensors", "whole");
  EXPECT_EQ(file_sha256(file("set")), sha256_text("whole"));
  const fs::path escaping = write("x.json", R"({"weight_map": {"x": "../a.bin"}})");
  expect_error([&] { weights_files(escaping); }, escaping.string(), "outside its folder");
  fs::create_directories(file("empty"));
  expect_error([&] { weights_files(file("empty")); }, file("empty").string(), "without files");
}

TEST_F(Hashes, VerifyDoesNotTrustTheKeptHash) {
  write_safetensors(file("in"), sample_tensors());
  const fs::path added = add_weights(file("in"), "mine");
  fs::last_write_time(added, fs::last_write_time(added) - 1min);
  EXPECT_EQ(cached_weights("mine"), added);
  for (const fs::path& how : {fs::path("mine"), added}) {
    const WeightsCheck good = verify_weights(how);
    EXPECT_TRUE(good.good());
    EXPECT_EQ(good.file, added);
    EXPECT_EQ(good.expected, sha256_file(added));
    EXPECT_EQ(good.tensors, 5u);
    EXPECT_EQ(good.values, 3u + 6 + 0 + 1 + 1);
  }
  tamper(added);
  EXPECT_EQ(cached_weights("mine"), added);  // looks unchanged
  const WeightsCheck bad = verify_weights("mine");
  EXPECT_FALSE(bad.hash_matches());
  EXPECT_EQ(bad.sha256, sha256_file(added));
}

TEST_F(Hashes, VerifyComparesWithANameOrWithNothing) {
  write_safetensors(file("in"), sample_tensors());
  EXPECT_EQ(verify_weights(file("in")).expected, "");
  EXPECT_TRUE(verify_weights(file("in")).good());
  const WeightsCheck pinned = verify_weights(file("in"), "resnet50");
  EXPECT_FALSE(pinned.good());
  EXPECT_EQ(pinned.expected.substr(0, 8), "d244e060");
  EXPECT_EQ(verify_weights(file("in"), "resnet18-torchvision").expected, "f37072fd");
  expect_error([&] { verify_weights("resnet50"); }, "resnet50.safetensors", "./run weights");
  expect_error([&] { verify_weights(file("in"), "mine"); }, "mine.json", "missing");
  expect_error([&] { verify_weights("nowhere.pth"); }, "nowhere.pth", "cannot read");
}

TEST_F(Hashes, VerifyFindsValuesThatAreNotFinite) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  TensorMap tensors = sample_tensors();
  tensors["bad.floats"] = make_tensor({4}, {1, nan, -infinity, nan});
  tensors["bad.half"] = make_tensor(DType::F16, {2}, {0x00, 0x7c, 0xff, 0x7b});  // inf, 65504
  tensors["bad.brain"] = make_tensor(DType::BF16, {1}, {0xc0, 0x7f});            // nan
  tensors["large"] =
      make_tensor(DType::F64, {1}, {0, 0, 0, 0, 0, 0, 0xe0, 0x7f});  // finite, no float
  write_safetensors(file("in"), tensors);
  const WeightsCheck check = verify_weights(file("in"));
  EXPECT_FALSE(check.good());
  ASSERT_EQ(check.non_finite.size(), 3u);
  EXPECT_EQ(check.non_finite[0].name, "bad.brain");
  EXPECT_EQ(check.non_finite[0].nans, 1u);
  EXPECT_EQ(check.non_finite[1].name, "bad.floats");
  EXPECT_EQ(check.non_finite[1].nans, 2u);
  EXPECT_EQ(check.non_finite[1].infinities, 1u);
  EXPECT_EQ(check.non_finite[2].infinities, 1u);
}

}  // namespace
}  // namespace ria::weights_test
