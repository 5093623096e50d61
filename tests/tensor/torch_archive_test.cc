// SPDX-License-Identifier: MIT
// Files of torch.save, whole, damaged and hostile.
#include <cstdint>
#include <string>

#include "golden/golden.h"
#include "support/legacy_torch.h"
#include "support/weights_fixture.h"

namespace ria::weights_test {
namespace {

TEST_F(Weights, DamagedTorchFileNeverCrashes) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  const nlohmann::json files = load_case("checkpoint_formats").at("files");
  ASSERT_FALSE(files.empty());
  std::string missing;
  for (const auto& [name, meaning] : files.items()) {
    const fs::path source = golden_dir() / "checkpoint_formats" / name;
    if (!fs::exists(source)) {
      missing += " " + name;
      continue;
    }
    const std::string whole = read_text(source);
    const TensorMap tensors = TensorFile::open(source).tensors();
    for (int percent = 0; percent < 100; ++percent) {
      SCOPED_TRACE(percent);
      const std::string part = whole.substr(0, whole.size() * percent / 100);
      try {
        EXPECT_TRUE(same_tensors(open_bytes(part).tensors(), tensors));
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("in_memory"), std::string::npos);
      }
    }
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      try {
        for (const auto& [key, tensor] : open_bytes(damaged).tensors()) tensor.doubles();
      } catch (const std::runtime_error&) {
      }
    }
  }
  if (!missing.empty()) GTEST_SKIP() << "the case does not have:" << missing;
}

const std::string kThreeFloats("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);

TEST_F(Weights, LegacyStorageOfAGraphicsCardAndAView) {
  const std::string keys = "\x80\x02](" + text("k") + "e.";
  const auto open = [&](const std::string& object, const std::string& tail) {
    return TensorFile::open(write("x.pth", legacy_start() + object + keys + tail)).at("tensor");
  };
  const std::string cuda = "torch.cuda\nFloatStorage";
  EXPECT_EQ(open(legacy_tensor(cuda, "N"), count(3) + kThreeFloats).floats(),
            (std::vector<float>{1, 2}));
  // A view of old files: (key, offset, size) inside the storage.
  const std::string view = "(" + text("v") + "K\x01K\x02t";
  EXPECT_EQ(open(legacy_tensor(cuda, view), count(3) + kThreeFloats).floats(),
            (std::vector<float>{2, 3}));
  const std::string outside = "(" + text("v") + "K\x02K\x02t";
  EXPECT_THROW(open(legacy_tensor(cuda, outside), count(3) + kThreeFloats), std::runtime_error);
  EXPECT_THROW(open(legacy_tensor(cuda, "N"), count(4) + kThreeFloats), std::runtime_error);
  EXPECT_THROW(open(legacy_tensor(cuda, "N"), count(2) + kThreeFloats), std::runtime_error);
  EXPECT_THROW(open(legacy_tensor(cuda, "N"), count(-1) + kThreeFloats), std::runtime_error);
  EXPECT_THROW(open(legacy_tensor(cuda, "N"), ""), std::runtime_error);
  EXPECT_THROW(open(legacy_tensor("torch\nQInt8Storage", "N"), count(3) + kThreeFloats),
               std::runtime_error);
}

TEST_F(Weights, OtherContainersAreRefusedByName) {
  expect_open_error(write("x.pkl", "\x80\x02K\x01."), "not one of torch.save");
  expect_open_error(write("x.tar", std::string(257, 'x') + "ustar" + std::string(300, '\0')),
                    "tar");
  expect_open_error(write("x.h5", "\x89HDF\r\n\x1a\n" + std::string(100, '\0')), "HDF5");
  std::string big = legacy_start();
  big[big.size() - 3] = '\x89';
  expect_open_error(write("x.pth", big + "N.N."), "little-endian");
}

TEST_F(Weights, WholeModelAndCallsAreRefusedByName) {
  const auto legacy = [&](const std::string& object) {
    return write("x.pth", legacy_start() + "\x80\x02" + object + "." + "\x80\x02].");
  };
  expect_open_error(legacy("cmodels\nNet\n)\x81}b"), "models.Net");
  expect_open_error(legacy("cposix\nsystem\n" + text("true") + "\x85R"), "posix.system");
  // Deep inside and next to a whole state dict, too.
  expect_open_error(legacy("}" + text("a") + "]c__builtin__\neval\n" + text("1") + "\x85Ras"),
                    "__builtin__.eval");
}

}  // namespace
}  // namespace ria::weights_test
