// SPDX-License-Identifier: MIT
#include "archive/onnx_files.h"

#include <gtest/gtest.h>

#include "ria/weights.h"
#include "support/onnx_writer.h"
#include "support/spill.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

std::vector<std::string> files_of(const std::string& model) {
  return onnx_external_files({reinterpret_cast<const std::uint8_t*>(model.data()), model.size()});
}

std::string two_files() {
  OnnxGraph graph;
  graph.constant({2}, {1, 2});
  graph.external({2}, "net.data");
  graph.external({3}, "more.data");
  graph.external({4}, "net.data");
  return graph.model();
}

TEST(OnnxFiles, AreNamedOnceEach) {
  EXPECT_EQ(files_of(two_files()), (std::vector<std::string>{"more.data", "net.data"}));
  OnnxGraph whole;
  whole.constant({2}, {1, 2});
  EXPECT_TRUE(files_of(whole.model()).empty());
}

TEST(OnnxFiles, DamagedModelsAreReadAsFarAsTheyGo) {
  const std::string model = two_files();
  for (std::size_t size = 0; size < model.size(); ++size) {
    EXPECT_LE(files_of(model.substr(0, size)).size(), 2u);
    std::string changed = model;
    changed[size] = static_cast<char>(~changed[size]);
    files_of(changed);
  }
  EXPECT_TRUE(files_of(std::string(100, '\xff')).empty());
}

TEST(OnnxFiles, ArePartOfTheHash) {
  const TemporaryFolder folder;
  spill(folder / "net.data", "12345678");
  spill(folder / "more.data", "123456789012");
  const auto model = spill(folder / "net.onnx", two_files());
  EXPECT_EQ(weights_files(model).size(), 3u);
  const std::string before = file_sha256(model);
  spill(folder / "net.data", "12345679");
  EXPECT_NE(file_sha256(model), before);
  OnnxGraph outside;
  outside.external({2}, "../net.data");
  const auto escaping = spill(folder / "outside.onnx", outside.model());
  EXPECT_THROW(file_sha256(escaping), std::runtime_error);
}

}  // namespace
}  // namespace ria
