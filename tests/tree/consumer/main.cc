// SPDX-License-Identifier: MIT
// A user of the library: consumer FOLDER. Pictures, matrices, strings, callbacks, classes and
// exceptions cross the boundary both ways, and what is printed is the same however this is
// compiled.
#include <algorithm>
#include <cstdio>

#include "ria/ria.h"

namespace {

constexpr int kPlaces = 4;

ria::Image street(int place, ria::Condition condition) {
  return ria::render_street({0, 40.0 * place}, condition, 96, 128, 1);
}

void print(const char* what, std::span<const float> values) {
  std::printf("%s, %zu values:", what, values.size());
  for (const float value : values.first(4)) std::printf(" %a", static_cast<double>(value));
  std::printf(" ... %a\n", static_cast<double>(values.back()));
}

/// A class of the caller's that the library calls.
class Mean final : public ria::Backbone {
 public:
  std::string name() const override { return "mean colours of rows"; }
  int dim() const override { return 3; }
  ria::Preprocessing preprocessing() const override { return {}; }
  std::string weights_sha256() const override { return ""; }
  double flops(int, int) const override { return 0; }
  ria::PatchFeatures extract(const ria::Pixels& pixels) const override {
    ria::PatchFeatures features{ria::Matrix(pixels.height, 3), pixels.height, 1, {}};
    for (int y = 0; y < pixels.height; ++y) {
      for (int c = 0; c < 3; ++c) features.patches(y, c) = pixels.at(c, y, y % pixels.width);
    }
    return features;
  }
};

void describe_and_search() {
  const ria::Recognizer recognizer("rootsift-ria");
  std::printf("%s: %d dims\n", recognizer.method().name.c_str(), recognizer.dim());
  ria::Matrix descriptors(kPlaces, recognizer.dim());
  std::vector<ria::Place> places;
  for (int i = 0; i < kPlaces; ++i) {
    const ria::Descriptor one = recognizer.describe(street(i, ria::Condition::kDay));
    print("descriptor", one);
    std::ranges::copy(one, descriptors.row(i).begin());
    places.push_back({"place " + std::to_string(i)});
  }
  ria::Map map(recognizer.header());
  map.add(descriptors, places);
  const ria::Descriptor query = recognizer.describe(street(2, ria::Condition::kNight));
  for (const ria::Match& match : map.search(query, 3)) {
    std::printf("%s: %a\n", map.place(match.place).name.c_str(), static_cast<double>(match.score));
  }
}

void index_files(const std::filesystem::path& folder) {
  for (int i = 0; i < kPlaces; ++i) {
    ria::save_image(folder / ("p" + std::to_string(i) + ".png"), street(i, ria::Condition::kDay));
  }
  const std::vector<std::filesystem::path> pictures = ria::list_pictures(folder);
  ria::RunOptions run;
  run.resume = false;
  run.num_threads = 1;
  run.names_relative_to = folder;
  run.progress = [](int done, int total) { std::printf("%d of %d\n", done, total); };
  ria::Recognizer recognizer("rootsift-vlad:clusters=3,center=true");
  const ria::Map map = recognizer.map(pictures, run);
  map.each_place([](int, const ria::Place& place) { std::printf("%s\n", place.name.c_str()); });
  for (const auto& [name, matrix] : map.fitted()) print(name.c_str(), matrix.values());

  ria::VocabularyOptions options;
  options.clusters = 2;
  options.run = run;
  const Mean mean;
  const ria::Vocabulary made =
      ria::build_vocabulary(mean, mean.preprocessing(), true, pictures, options);
  print("vocabulary of the caller's features", made.centres.values());
}

void calculate() {
  const ria::Matrix q = ria::random_orthogonal(24, 8, 3);
  print("projection", q.values());
  const ria::Moments moments = ria::sample_moments(q);
  const ria::VectorD root = ria::vectorize(ria::newton_schulz_sqrt(moments.covariance, 5));
  std::printf("root: %zu values, %a ... %a\n", root.size(), root.front(), root.back());
  std::printf("cosine %a\n", ria::cosine(q.row(0), q.row(1)));
}

template <typename Error>
void expect(void (*run)()) {
  try {
    run();
    std::printf("nothing was thrown\n");
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}

void catch_errors() {
  expect<std::invalid_argument>([] { ria::Recognizer("no-such-method"); });
  expect<std::invalid_argument>([] {
    ria::Map(ria::MapHeader{}).add(ria::Matrix(1, 2), {{"a"}, {"b"}});
  });
  expect<std::runtime_error>([] { ria::load_image("no such picture.png"); });
  expect<ria::Interrupted>([] {
    std::stop_source stop;
    stop.request_stop();
    ria::RunOptions run;
    run.stop = stop.get_token();
    run.resume = false;
    ria::Recognizer("rootsift-mean").describe({"a.png", "b.png"}, run);
  });
  expect<ria::Interrupted>([] { throw ria::Interrupted(1, 2); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: consumer FOLDER\n"), 2;
  std::printf("ria %s\n", RIA_VERSION);
  describe_and_search();
  index_files(argv[1]);
  calculate();
  catch_errors();
}
