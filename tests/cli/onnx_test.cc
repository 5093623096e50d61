// SPDX-License-Identifier: MIT
// `onnx:FILE` on the command line, with ONNX Runtime and without.
#include "cli/fixture.h"
#include "support/onnx_writer.h"

namespace ria::cli_test {
namespace {

constexpr char kPlugin[] = RIA_BINARY_DIR "/libria-onnx.so";

class OnnxProgram : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    pictures();
    OnnxGraph graph;
    std::vector<float> weight(5 * 3 * 64);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 7) - 3;
    const OnnxGraph::Shape side{8, 8};
    graph.node("Conv",
               {graph.input("picture", {1, 3, 64, 64}), graph.constant({5, 3, 8, 8}, weight)},
               {{"kernel_shape", side}, {"strides", side}},
               "map");
    graph.output("map", {1, 5, 8, 8});
    spill(folder_ / "map.onnx", graph.model());
    graph.output(graph.node("Flatten", {graph.node("GlobalMaxPool", {"map"})}, {}, "one"), {1, 5});
    spill(folder_ / "both.onnx", graph.model());
  }
};

class OnnxRun : public OnnxProgram {
 protected:
  void SetUp() override {
    if (!fs::exists(kPlugin)) GTEST_SKIP() << "ria was configured without ONNX Runtime";
    OnnxProgram::SetUp();
  }
};

TEST_F(OnnxRun, PatchesAndDescriptorsComeFromAFile) {
  works({"describe", "pictures", "--backbone", "onnx:map.onnx", "--d", "3", "--out", "ria.npy"});
  EXPECT_EQ(read_rows(folder_ / "ria.npy").cols(), 6);
  works({"describe",
         "pictures",
         "--backbone",
         "onnx:map.onnx",
         "--aggregator",
         "gem",
         "--out",
         "gem.npy"});
  EXPECT_EQ(read_rows(folder_ / "gem.npy").cols(), 5);
  works({"describe",
         "pictures",
         "--backbone",
         "onnx:both.onnx",
         "--onnx_output",
         "one",
         "--out",
         "one.npy"});
  works(
      {"describe", "pictures", "--method", "onnx:both.onnx,onnx_output=one", "--out", "same.npy"});
  EXPECT_EQ(read_rows(folder_ / "one.npy"), read_rows(folder_ / "same.npy"));
  refused(2,
          {"describe", "pictures", "--method", "onnx:both.onnx", "--out", "x.npy"},
          {"both.onnx has 2 outputs (map [1,5,8,8], one [1,5]): onnx_output must name one"});
}

TEST_F(OnnxRun, QueriesDoWhatTheIndexSays) {
  works({"index",
         "build",
         "pictures",
         "--out",
         "p.ria",
         "--method",
         "onnx-gem:map.onnx",
         "--onnx_normalization",
         "unit"});
  const std::string best =
      works({"query", "p.ria", "pictures", "-k", "1", "--weights", "map.onnx"});
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("p{:03}.png", i);
    const std::size_t first = best.find(name);
    EXPECT_NE(best.find(name, first + 1), best.npos) << best;  // each finds itself
  }
  refused(1, {"query", "p.ria", "pictures"}, {"weights are needed, the .onnx file"});
  refused(1, {"query", "p.ria", "pictures", "--weights", "both.onnx"}, {"both.onnx has 2 outputs"});
}

TEST_F(OnnxProgram, WithoutThePluginOneLineSaysSo) {
  at_.env["RIA_PLUGIN_DIR"] = folder_.string();
  refused(1,
          {"describe", "pictures", "--backbone", "onnx:map.onnx", "--out", "x.npy"},
          {"reading map.onnx needs ONNX Runtime: libria-onnx.so is not in " + folder_.string()});
}

TEST_F(OnnxRun, WithoutTheLibraryOneLineSaysSo) {
  std::string plugin = read_text(kPlugin);
  for (std::size_t at; (at = plugin.find("libonnxruntime.so.1")) != plugin.npos;) {
    plugin.replace(at, 7, "libnone");
  }
  spill(folder_ / "libria-onnx.so", plugin);
  at_.env["RIA_PLUGIN_DIR"] = folder_.string();
  refused(1,
          {"describe", "pictures", "--backbone", "onnx:map.onnx", "--out", "x.npy"},
          {"reading map.onnx needs ONNX Runtime: libnoneruntime.so.1 is missing; put it where"});
}

}  // namespace
}  // namespace ria::cli_test
