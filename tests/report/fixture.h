// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ria/image.h"
#include "ria/report.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

inline int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

inline int count_files(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Six queries, six places, query i is place i; the fifth query's name is as nasty as names get.
class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "pictures");
    dataset_.name = "tiny <set>";
    for (int i = 0; i < 6; ++i) {
      dataset_.database.push_back(picture(fmt::format("d{}.jpg", i), 40 * i));
      const std::string name =
          i == 4 ? "<img src=x onerror=alert(1)>&\"'.jpg" : fmt::format("q{}.jpg", i);
      dataset_.queries.push_back(picture(name, 40 * i + 10));
      dataset_.positives.push_back({i});
    }
  }

  fs::path picture(const std::string& name, int grey) {
    const fs::path file = folder_ / "pictures" / name;
    save_image(file,
               {12, 16, std::vector<std::uint8_t>(12 * 16 * 3, static_cast<std::uint8_t>(grey))});
    return file;
  }

  /// Query i's right place comes at rank ranks[i]; 0: not among the four kept.
  Evaluation evaluation(const std::string& method,
                        const std::vector<int>& ranks,
                        double seconds) const {
    Evaluation made;
    made.method = method;
    made.dataset = dataset_.name;
    made.queries = made.database = 6;
    made.dim = 64;
    made.seconds = {{"backbone", seconds - 0.25}, {"aggregate", 0.25}, {"wall", 9.0}};
    made.options = R"({"tau":1e-5})";
    made.weights_sha256 = "0123abcd";
    for (int i = 0; i < 6; ++i) {
      std::vector<Match> matches;
      for (int rank = 1, other = 1; rank <= 4; ++rank) {
        const int place = rank == ranks[i] ? i : (i + other++) % 6;
        matches.push_back({place, 1.0f - 0.1f * static_cast<float>(rank)});
      }
      made.predictions.push_back(matches);
    }
    made.recall = recall_at(made.predictions, dataset_.positives, {1, 2, 4});
    return made;
  }

  std::vector<Evaluation> two() const {
    return {evaluation("good", {1, 1, 1, 1, 1, 2}, 1.2),
            evaluation("fast", {1, 2, 3, 4, 0, 1}, 0.6)};
  }

  std::string page(const std::vector<Evaluation>& evaluations, const ReportOptions& options = {}) {
    write_report(folder_ / "report.html", dataset_, evaluations, options);
    return read_text(folder_ / "report.html");
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  Dataset dataset_;
};

}  // namespace ria
