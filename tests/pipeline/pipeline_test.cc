// SPDX-License-Identifier: MIT
// The whole chain on small rendered pictures, mostly with the backbone that needs no weights.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "ria/eigen.h"
#include "ria/ria.h"
#include "support/cache_in.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {

void PrintTo(const Method& method, std::ostream* out) { *out << method.name; }

namespace {

namespace fs = std::filesystem;

Descriptor row_of(const Matrix& rows, int i) { return {rows.row(i).begin(), rows.row(i).end()}; }

class Pipeline : public ::testing::Test {
 protected:
  static constexpr int kPictures = 6;

  void SetUp() override {
    for (int i = 0; i < kPictures; ++i) {
      pictures_.push_back(folder_ / (std::to_string(i) + ".png"));
      save_image(pictures_.back(), render_street({0, 40.0 * i}, Condition::kDay, 96, 128, 7));
    }
  }
  static Matrix describe(const Recognizer& r, const std::vector<fs::path>& pictures, int threads) {
    RunOptions run;
    run.num_threads = threads;
    return r.describe(pictures, run).descriptors;
  }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  std::vector<fs::path> pictures_;
};

TEST_F(Pipeline, ManyPicturesEqualOneByOneForAnyThreads) {
  const Recognizer recognizer("rootsift-ria");
  const Matrix one = describe(recognizer, pictures_, 1);
  EXPECT_EQ(one, describe(recognizer, pictures_, 3));
  for (int i = 0; i < kPictures; ++i) {
    EXPECT_EQ(row_of(one, i), recognizer.describe(pictures_[i]));
    EXPECT_NEAR(as_eigen(one.row(i)).norm(), 1, 1e-6f);
  }
}

TEST_F(Pipeline, MethodsTogetherEqualEachAlone) {
  const auto recognizers = make_recognizers({"rootsift-ria", "rootsift-gem", "rootsift-mean"});
  std::vector<const Recognizer*> views;
  for (const auto& r : recognizers) views.push_back(r.get());
  EXPECT_EQ(&recognizers[0]->backbone(), &recognizers[1]->backbone());
  const auto together = describe_together(views, pictures_);
  for (std::size_t r = 0; r < views.size(); ++r) {
    EXPECT_EQ(together[r].descriptors, describe(*views[r], pictures_, 1));
  }
}

TEST_F(Pipeline, ABackboneRunsOnceWhateverTheOrderOfItsMethods) {
  const auto sharing = make_recognizers({"rootsift-ria", "rootsift-gem"});
  const Recognizer other("rootsift-mean");  // has a backbone of its own
  const auto together = describe_together({sharing[0].get(), &other, sharing[1].get()}, pictures_);
  EXPECT_EQ(together[0].seconds.backbone, together[2].seconds.backbone);
  EXPECT_NE(together[0].seconds.backbone, together[1].seconds.backbone);
  EXPECT_EQ(together[2].descriptors, describe(*sharing[1], pictures_, 1));
}

TEST_F(Pipeline, ABadPictureIsReportedAndTheOthersDescribed) {
  write_text(pictures_[2], "no picture");
  const Descriptions all = Recognizer("rootsift-gem").describe(pictures_);
  ASSERT_EQ(all.failures.size(), 1u);
  EXPECT_EQ(all.failures[0].picture, 2);
  EXPECT_EQ(row_of(all.descriptors, 2), Descriptor(all.descriptors.cols()));
  const Descriptions good = all.without_failures();
  EXPECT_EQ(good.names.size(), 5u);
  EXPECT_EQ(row_of(good.descriptors, 2), row_of(all.descriptors, 3));
}

TEST_F(Pipeline, AnInterruptedRunGoesOnWhereItStopped) {
  const Recognizer recognizer("rootsift-ria");
  const Matrix expected = describe(recognizer, pictures_, 1);
  std::stop_source stop;
  RunOptions run;
  run.num_threads = 1;
  run.stop = stop.get_token();
  run.progress = [&](int done, int) {
    if (done == 4) stop.request_stop();
  };
  EXPECT_THROW(recognizer.describe(pictures_, run), Interrupted);
  int first = 0;
  RunOptions again;
  again.num_threads = 1;
  again.progress = [&](int done, int) {
    if (first == 0) first = done;
  };
  EXPECT_EQ(recognizer.describe(pictures_, again).descriptors, expected);
  EXPECT_EQ(first, 5);  // four were kept
  EXPECT_TRUE(fs::is_empty(cache_folder() / "unfinished"));
}

TEST_F(Pipeline, AChangedPictureIsNotResumed) {
  const Recognizer recognizer("rootsift-ria");
  std::stop_source stop;
  RunOptions run;
  run.num_threads = 1;
  run.stop = stop.get_token();
  run.progress = [&](int, int) { stop.request_stop(); };
  EXPECT_THROW(recognizer.describe(pictures_, run), Interrupted);
  save_image(pictures_[0], render_street({0, 500}, Condition::kDay, 96, 128, 7));
  EXPECT_EQ(row_of(describe(recognizer, pictures_, 1), 0), recognizer.describe(pictures_[0]));
}

TEST_F(Pipeline, AnIndexRemembersItsMethod) {
  MethodOptions options;
  options.ria.d = 12;
  options.ria.projection = "pca";
  Recognizer recognizer("rootsift-ria", options);
  EXPECT_THROW(recognizer.dim(), std::invalid_argument);
  recognizer.map(pictures_).save(folder_ / "places.ria");
  const Map map = Map::open(folder_ / "places.ria");
  const Recognizer again(map);
  EXPECT_EQ(again.options().ria.d, 12);
  const Matrix descriptors = describe(again, pictures_, 1);
  for (int i = 0; i < kPictures; ++i) {
    const Match best = map.search(row_of(descriptors, i), 1).front();
    EXPECT_EQ(best.place, i);
    EXPECT_NEAR(best.score, 1, 1e-5f);
  }
}

TEST_F(Pipeline, AnIndexOfOtherWeightsIsRefused) {
  Map map({"rootsift-ria", options_json(find_method("rootsift-ria"), {}), "abc123", "0.1.0", 2080});
  try {
    const Recognizer recognizer(map);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("abc123"), std::string::npos);
  }
}

/// The whole way through a file: what was fitted and kept goes with the index.
TEST_F(Pipeline, WhatIsBehindTheDescriptorIsKeptWithTheIndex) {
  const int count = static_cast<int>(pictures_.size());
  for (const std::string& method :
       {std::string("rootsift-ria:d=16,center=true"),
        fmt::format("rootsift-mean:pca={},whiten=true", count - 1),
        std::string("rootsift-gem:rerank=patches,rerank_depth=3"),
        std::string("rootsift-vlad:clusters=4"),
        std::string("rootsift-netvlad:clusters=4,center=true,rerank=patches")}) {
    SCOPED_TRACE(method);
    Recognizer recognizer(method);
    const Map map = recognizer.map(pictures_);
    EXPECT_EQ(map.header().dim, recognizer.dim());
    EXPECT_EQ(map.has_locals(), recognizer.reranker() != nullptr);
    map.save(folder_ / "places.ria");
    const Map loaded = Map::open(folder_ / "places.ria");
    EXPECT_EQ(loaded.fitted(), map.fitted());
    const Recognizer again(loaded);
    const Descriptions queries = again.describe(pictures_);
    EXPECT_EQ(queries.descriptors, recognizer.describe(pictures_).descriptors);
    const auto answers = again.search(loaded, queries, 2);
    ASSERT_EQ(static_cast<int>(answers.size()), count);
    for (int q = 0; q < count; ++q) {
      ASSERT_EQ(answers[q].size(), 2u);
      EXPECT_EQ(answers[q][0].place, q);
    }
  }
}

TEST_F(Pipeline, FeaturesFromTheCacheGiveTheSameDescriptors) {
  RunOptions cached;
  cached.feature_cache = folder_ / "features";
  const Recognizer ria("rootsift-ria:d=16");
  const Matrix first = ria.describe(pictures_, cached).descriptors;
  EXPECT_FALSE(fs::is_empty(folder_ / "features"));
  EXPECT_EQ(ria.describe(pictures_, cached).descriptors, first);
  // Half precision, no more: the descriptors are nearly those of the whole way.
  const Matrix exact = ria.describe(pictures_).descriptors;
  EXPECT_GT(as_eigen(exact).cwiseProduct(as_eigen(first)).rowwise().sum().minCoeff(), 0.9999);
  // Another size of picture is another feature; a damaged file is made again.
  const Recognizer smaller("rootsift-ria:d=16,longest_side=120");
  EXPECT_NE(smaller.describe(pictures_, cached).descriptors, first);
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "features")) {
    if (entry.is_regular_file()) fs::resize_file(entry.path(), 20);
  }
  EXPECT_EQ(ria.describe(pictures_, cached).descriptors, first);
}

TEST_F(Pipeline, FittingTakesFeaturesFromTheCacheToo) {
  for (const char* method : {"rootsift-ria:d=16,projection=pca", "rootsift-vlad:clusters=4"}) {
    SCOPED_TRACE(method);
    RunOptions cached;
    cached.feature_cache = folder_ / "features";
    fs::remove_all(cached.feature_cache);
    Recognizer first(method);
    first.fit(pictures_, cached);
    ASSERT_TRUE(fs::exists(cached.feature_cache)) << "nothing was kept";
    const auto written = fs::last_write_time(cached.feature_cache);
    Recognizer second(method);
    second.fit(pictures_, cached);
    EXPECT_EQ(fs::last_write_time(cached.feature_cache), written);
    EXPECT_EQ(second.fitted(), first.fitted());
  }
}

TEST_F(Pipeline, ARunWithoutAWritableCacheStillEnds) {
  write_text(folder_ / "file", "");
  const CacheIn unusable(folder_ / "file");
  EXPECT_EQ(Recognizer("rootsift-mean").describe(pictures_).failures.size(), 0u);
}

TEST(Methods, EveryRowIsWellFormedAndItsOptionsRoundTrip) {
  for (const Method& method : methods()) {
    EXPECT_FALSE(method.summary.empty());
    EXPECT_FALSE(method.paper.empty());
    MethodOptions options;
    options.ria.d = 17;
    options.ria.mapping = Mapping::kLogEuclideanCentred;
    options.ria.estimator = Estimator::kOas;
    options.gem.p = 5;
    options.gem.sign = GemSign::kPreserve;
    options.image_height = 100;
    options.image_width = 120;
    options.resize = "tensor_bicubic_aa";
    const std::string json = options_json(method, options);
    EXPECT_EQ(options_json(method, parse_options_json(json)), json);
  }
  EXPECT_THROW(parse_options_json(R"({"no_such": 1})"), std::invalid_argument);
  EXPECT_THROW(parse_options_json(R"({"d": "x"})"), std::invalid_argument);
  EXPECT_THROW(parse_options_json("nonsense"), std::invalid_argument);
  EXPECT_THROW(find_method("resnet50-nonsense"), std::invalid_argument);
}

class EveryMethod : public ::testing::TestWithParam<Method> {};

TEST_P(EveryMethod, GivesAUnitFiniteRepeatableDescriptor) {
  try {
    if (!GetParam().weights.empty()) cached_weights(GetParam().weights);
  } catch (const std::runtime_error& missing) {
    // Published weights that are not here: the one line that is left says how to get them.
    EXPECT_THAT(missing.what(), testing::HasSubstr(GetParam().weights));
    EXPECT_THROW(Recognizer{GetParam().name}, std::runtime_error);
    if (GetParam().weights == "resnet50") GTEST_SKIP() << missing.what();
    EXPECT_THAT(missing.what(), testing::HasSubstr("add it with: ria weights "));
    return;
  }
  const Recognizer recognizer(GetParam().name);
  const Image image = render_street({0, 10}, Condition::kNight, 90, 120, 1);
  if (needs_vocabulary(GetParam())) {
    EXPECT_THROW(recognizer.describe(image), std::invalid_argument) << "nothing is fitted yet";
    return;
  }
  const Descriptor v = recognizer.describe(image);
  EXPECT_EQ(std::ssize(v), recognizer.dim());
  EXPECT_EQ(std::ssize(v), GetParam().dim);
  EXPECT_TRUE(as_eigen(v).allFinite());
  EXPECT_NEAR(as_eigen(v).norm(), 1, 1e-5f);
  EXPECT_EQ(v, recognizer.describe(image));
  // One core or all: the same bits.
  set_thread_cores(1);
  EXPECT_EQ(v, recognizer.describe(image));
  set_thread_cores(0);
  // A sliver is a picture too.
  Image sliver{30, 20000, std::vector<std::uint8_t>(3u * 30 * 20000, 90)};
  for (std::size_t i = 0; i < sliver.rgb.size(); i += 7)
    sliver.rgb[i] = static_cast<std::uint8_t>(i);
  EXPECT_NEAR(as_eigen(recognizer.describe(sliver)).norm(), 1, 1e-5f);
  // One pixel has no gradients: their mean, and covariances that nothing is added to, have then
  // nothing to say.
  const Image pixel{1, 1, {10, 200, 90}};
  if (GetParam().name == "rootsift-mean" || GetParam().name == "rootsift-riax") {
    EXPECT_THROW(recognizer.describe(pixel), std::invalid_argument);
  } else {
    EXPECT_NEAR(as_eigen(recognizer.describe(pixel)).norm(), 1, 1e-5f);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryMethod, ::testing::ValuesIn(methods()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace ria
