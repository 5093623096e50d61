// SPDX-License-Identifier: MIT
#include "query.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ria/ria.h"
#include "timing.h"
#include "util/files.h"

namespace ria::bench {

void time_queries(const std::filesystem::path& file,
                  const std::filesystem::path& picture,
                  double seconds_in_all) {
  constexpr int kAnswers = 5;
  const Map map = Map::open(file, Access::kRead);
  const Recognizer recognizer(map);
  const std::vector<std::uint8_t> bytes = read_bytes(picture);
  const auto ask = [&] {
    const Image image = decode_image(bytes, picture.string(), recognizer.preprocessing().load);
    DescribedPicture described = recognizer.describe_whole(image);
    Descriptions query;
    query.descriptors = Matrix(1, recognizer.dim(), described.descriptor);
    if (recognizer.reranker() != nullptr) query.locals = {std::move(described.local)};
    PairScores agreements;
    recognizer.search(map, query, kAnswers, {}, &agreements);
    if (recognizer.reranker() != nullptr) {
      guess_place(map.scores(described.descriptor), agreements.front());
    }
  };
  ask();  // warm-up
  std::vector<double> spent;
  for (double sum = 0; sum < seconds_in_all; sum += spent.back()) spent.push_back(seconds(ask));
  std::nth_element(spent.begin(), spent.begin() + std::ssize(spent) / 2, spent.end());
  fmt::print("{:.3f} {}\n", 1e3 * spent[spent.size() / 2], spent.size());
}

}  // namespace ria::bench
