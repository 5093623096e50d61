// SPDX-License-Identifier: MIT
#include "ria/index.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ria/aggregator.h"
#include "ria/eigen.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"
#include "util/files.h"

namespace ria {
namespace {

constexpr int kDim = 24;

Matrix unit_rows(int rows, std::uint64_t seed) {
  const Matrix all = random_orthogonal(std::max(rows, kDim), kDim, seed);
  return to_matrix(as_eigen(all).topRows(rows).rowwise().normalized());
}

Index make_index(int places) {
  Index index({"rootsift-ria", R"({"d":6})", "", "0.0.1", kDim});
  std::vector<std::string> names;
  for (int i = 0; i < places; ++i)
    names.push_back("place " + std::to_string(i) + ", \"\xC3\xA9\".jpg");
  index.add(unit_rows(places, 1), names);
  return index;
}

TEST(Index, SearchEqualsBruteForce) {
  const Index index = make_index(150);
  const Matrix places = unit_rows(150, 1), queries = unit_rows(40, 2);
  const auto found = index.search(queries, 7);
  const EigenMatrix scores = as_eigen(queries) * as_eigen(places).transpose();
  for (int q = 0; q < 40; ++q) {
    std::vector<int> order(150);
    for (int i = 0; i < 150; ++i) order[i] = i;
    std::sort(
        order.begin(), order.end(), [&](int a, int b) { return scores(q, a) > scores(q, b); });
    ASSERT_EQ(found[q].size(), 7u);
    for (int k = 0; k < 7; ++k) {
      EXPECT_EQ(found[q][k].place, order[k]);
      EXPECT_NEAR(found[q][k].score, scores(q, order[k]), 1e-5f);
    }
  }
}

TEST(Index, GivesFewerAnswersThanAskedWhereItHoldsFewer) {
  EXPECT_EQ(make_index(3).search(unit_rows(1, 2), 10).front().size(), 3u);
  EXPECT_TRUE(make_index(0).search(unit_rows(1, 2), 10).front().empty());
  EXPECT_THROW(make_index(3).search(unit_rows(1, 2), 0), std::invalid_argument);
}

TEST(Index, RefusesOtherWidthsAndNaN) {
  Index index = make_index(3);
  EXPECT_THROW(index.search(Matrix(1, kDim + 1, 1.0f), 1), std::invalid_argument);
  EXPECT_THROW(index.add(Matrix(1, kDim - 1, 1.0f), {"x"}), std::invalid_argument);
  EXPECT_THROW(index.add(Matrix(2, kDim, 1.0f), {"x"}), std::invalid_argument);
  Matrix nan(1, kDim, 1.0f);
  nan(0, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(index.add(nan, {"x"}), std::invalid_argument);
  EXPECT_THROW(index.search(nan, 1), std::invalid_argument);
  EXPECT_THROW(Index({"m", "{}", "", "", 0}), std::invalid_argument);
}

TEST(Index, SavesAndLoadsEverything) {
  const TemporaryFolder folder;
  Index index = make_index(20);
  index.set_fitted({{"projection", unit_rows(5, 3)}, {"mean", unit_rows(1, 4)}});
  index.save(folder / "places.ria");
  const Index loaded = Index::load(folder / "places.ria");
  EXPECT_EQ(loaded.names(), index.names());
  EXPECT_EQ(loaded.fitted(), index.fitted());
  EXPECT_EQ(loaded.header().method, "rootsift-ria");
  EXPECT_EQ(loaded.header().options, R"({"d":6})");
  EXPECT_EQ(loaded.header().dim, kDim);
  const Matrix queries = unit_rows(4, 9);
  const auto a = index.search(queries, 5), b = loaded.search(queries, 5);
  for (int q = 0; q < 4; ++q) {
    for (int k = 0; k < 5; ++k) EXPECT_EQ(a[q][k].place, b[q][k].place);
  }
}

TEST(Index, RefusesAFileCutAnywhereAndForeignFiles) {
  const TemporaryFolder folder;
  make_index(4).save(folder / "whole.ria");
  const std::string whole = read_text(folder / "whole.ria");
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    write_text(folder / "cut.ria", whole.substr(0, length));
    EXPECT_THROW(Index::load(folder / "cut.ria"), std::runtime_error) << length;
  }
  EXPECT_THROW(Index::load(folder / "nowhere.ria"), std::runtime_error);
  write_safetensors(folder / "weights.safetensors", {{"w", make_tensor({2}, {1.0f, 2.0f})}});
  EXPECT_THROW(Index::load(folder / "weights.safetensors"), std::runtime_error);
}

}  // namespace
}  // namespace ria
