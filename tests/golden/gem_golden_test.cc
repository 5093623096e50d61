// SPDX-License-Identifier: MIT
// CosPlace's head alone and behind its network, and AnyLoc's pooling, as the case lists them. An
// output with an unknown name fails.
#include <regex>

#include "aggregate/features.h"
#include "backbone/resnet.h"
#include "golden/anyloc_gem.h"
#include "golden/feature_rows.h"
#include "golden/head_case.h"
#include "head/heads.h"
#include "ria/aggregator.h"
#include "support/tensor_matrix.h"
#include "weights/architecture.h"

namespace ria {
namespace {

class GemGolden : public HeadCase {
 protected:
  GemGolden() : HeadCase("gem") {}

  /// The file of the head alone, or that of the whole network.
  std::optional<TensorFile> cosplace(bool whole) {
    auto file = golden().weights_where([&](const TensorFile& held) {
      return !name_ending(held, "aggregation.1.p").empty() &&
             canonical_resnet_names(held).empty() != whole;
    });
    if (!file) leave_out(whole ? "weights of a whole network" : "weights of the head alone");
    return file;
  }

  static LinearLayer linear(const TensorFile& file) {
    return {matrix_of(file.at(name_ending(file, "aggregation.3.weight"))),
            file.at(name_ending(file, "aggregation.3.bias")).floats()};
  }

  static GemOptions clamped(const TensorFile& file) {
    GemOptions options;
    options.p = file.at(name_ending(file, "aggregation.1.p")).doubles().at(0);
    return options;
  }
};

const std::regex kAnyLoc("anyloc\\.p(\\d+)(_\\d+)?(_abs)?");

TEST_F(GemGolden, EveryOutputIsKnown) {
  const std::regex cosplace("cosplace_head\\.(l2|gem|out)|cosplace_e2e\\.out");
  const std::vector<std::string> names = golden().outputs().names();
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
    EXPECT_TRUE(std::regex_match(name, cosplace) || std::regex_match(name, kAnyLoc)) << name;
  }
}

TEST_F(GemGolden, CosPlaceHead) {
  const auto file = cosplace(false);
  if (!file || !has_input("cosplace_head.x")) return;
  const GemOptions options = clamped(*file);
  const Tensor& x = input("cosplace_head.x");
  const bool l2 = has_output("cosplace_head.l2"), gem = has_output("cosplace_head.gem"),
             out = has_output("cosplace_head.out");
  for (std::int64_t b = 0; b < x.shape[0]; ++b) {
    const Matrix patches = rows_of_nchw(x, b);
    if (l2)
      expect_close(to_matrix(normalized_rows(as_eigen(patches))),
                   rows_of_nchw(output("cosplace_head.l2"), b),
                   atol("cosplace_head.l2"));
    if (gem)
      expect_close(gem_pool(patches, options),
                   row_of(output("cosplace_head.gem"), b),
                   atol("cosplace_head.gem"));
    if (!out) continue;
    const auto made = make_gem(static_cast<int>(patches.cols()), options, linear(*file));
    const auto read = read_cosplace(renamed(*file, common_prefix(*file), "module.aggregation."));
    EXPECT_EQ(read->dim(), made->dim());
    for (const Aggregator* head : {made.get(), read.get()}) {
      expect_descriptor(head->aggregate({patches, 0, 0, {}}), "cosplace_head.out", b);
    }
  }
}

TEST_F(GemGolden, CosPlaceWholeNetwork) {
  const auto file = cosplace(true);
  if (!file || !has_input("cosplace_e2e.image") || !has_output("cosplace_e2e.out")) return;
  const auto head = read_cosplace(*file);
  EXPECT_EQ(head->dim(), output("cosplace_e2e.out").shape.at(1));
  for (std::int64_t b = 0; b < input("cosplace_e2e.image").shape[0]; ++b) {
    const FeatureMap map =
        run_plan(plan_resnet(*file, "layer4"), pixels_of(input("cosplace_e2e.image"), b));
    expect_descriptor(
        head->aggregate({rows_of(map), map.height, map.width, {}}), "cosplace_e2e.out", b);
  }
}

// The same through the backbones' table.
TEST_F(GemGolden, CosPlaceFile) {
  const auto file = cosplace(true);
  if (!file || !has_input("cosplace_e2e.image") || !has_output("cosplace_e2e.out")) return;
  const auto network = backbone(infer_architecture(*file), file->path(), "layer4");
  for (std::int64_t b = 0; b < input("cosplace_e2e.image").shape[0]; ++b) {
    const PatchFeatures features = network->extract(pixels_of(input("cosplace_e2e.image"), b));
    expect_descriptor(read_cosplace(*file)->aggregate(features), "cosplace_e2e.out", b);
  }
}

TEST_F(GemGolden, AnyLocPooling) {
  if (!has_input("anyloc.patches")) return;
  const Tensor& x = input("anyloc.patches");
  int checked = 0;
  for (const std::string& name : golden().outputs().names()) {
    std::smatch match;
    if (!std::regex_match(name, match, kAnyLoc)) continue;
    SCOPED_TRACE(name);
    GemOptions options = anyloc_gem(
        std::stod(match[1].str() + (match[2].matched ? "." + match[2].str().substr(1) : "")));
    options.normalize_patches = false;  // the patches come normalised, but for one channel
    if (match[3].matched) options.sign = GemSign::kAbsolute;
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      expect_close(gem_pool(item_rows(x, b), options), row_of(output(name), b), atol(name));
    }
    ++checked;
  }
  if (checked == 0) leave_out("any output of anyloc");
}

}  // namespace
}  // namespace ria
