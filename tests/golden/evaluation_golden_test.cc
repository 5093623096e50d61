// SPDX-License-Identifier: MIT
// An evaluation as VPR-methods-evaluation ran it: its folders, answers, recall and files.
#include <fmt/format.h>

#include <regex>
#include <set>

#include "golden/golden_case.h"
#include "ria/ria.h"
#include "support/temporary_folder.h"
#include "support/tensor_matrix.h"
#include "tensor/npy.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

/// Paths in the fixtures are relative to their folder.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : previous_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~WorkingFolder() { fs::current_path(previous_); }

 private:
  fs::path previous_;
};

std::vector<std::string> strings(const std::vector<fs::path>& paths) {
  std::vector<std::string> all;
  for (const fs::path& path : paths) all.push_back(path.string());
  return all;
}

/// The text up to its positives, and these as a set: their order is that of a library's tree.
std::pair<std::string, std::multiset<std::string>> parts(const std::string& text) {
  const std::string heading = "Positives paths:\n";
  const std::size_t start = text.find(heading) + heading.size();
  std::multiset<std::string> lines;
  for (std::size_t at = start; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) return {"no newline at the end", {}};
    lines.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return {text.substr(0, start), lines};
}

class EvaluationGolden : public GoldenCaseTest {
 protected:
  EvaluationGolden() : GoldenCaseTest("evaluation") {}

  void SetUp() override {
    GoldenCaseTest::SetUp();
    if (IsSkipped()) return;
    here_ = std::make_unique<WorkingFolder>(golden().folder());
    dataset_ = load_at_named(argument("database_folder"),
                             argument("queries_folder"),
                             config().at("positive_dist_threshold").get<double>());
    evaluation_.method = "stored descriptors";
    evaluation_.queries = config().at("queries");
    evaluation_.database = config().at("database");
    evaluation_.dim = config().at("dim");
    evaluation_.database_descriptors = matrix_of(read_npy("database_descriptors.npy"));
    evaluation_.query_descriptors = matrix_of(read_npy("queries_descriptors.npy"));
    Map map({evaluation_.method, "{}", "", "", evaluation_.dim});
    map.add(evaluation_.database_descriptors, std::vector<Place>(dataset_.database.size()));
    const std::vector<int> ks = config().at("recall_values");
    const int most = *std::max_element(ks.begin(), ks.end());
    evaluation_.predictions = map.search(evaluation_.query_descriptors, most);
    judge(dataset_, ks, evaluation_);
  }

  /// Of the command that case.json says it stands for.
  std::string argument(const std::string& name) const {
    return found_in(config().at("command_equivalent"), name + "=(\\S+)");
  }

  static std::string found_in(const std::string& text, const std::string& pattern) {
    std::smatch match;
    if (std::regex_search(text, match, std::regex(pattern))) return match[1];
    throw std::runtime_error("case.json: no " + pattern + " in '" + text + "'");
  }

  const nlohmann::json& at(const std::string& key) const { return golden().info().at(key); }

  std::unique_ptr<WorkingFolder> here_;
  Dataset dataset_;
  Evaluation evaluation_;
  TemporaryFolder out_;
};

TEST_F(EvaluationGolden, FoldersAndPositives) {
  EXPECT_EQ(strings(dataset_.database), at("database_paths"));
  EXPECT_EQ(strings(dataset_.queries), at("queries_paths"));
  EXPECT_EQ(dataset_.positives, at("positives_sorted"));
}

TEST_F(EvaluationGolden, Predictions) {
  const auto places_file = golden().files_like("predictions_top", ".npy"),
             distances_file = golden().files_like("distances_top", ".npy");
  if (places_file.empty()) return leave_out("predictions_top*.npy");
  const Matrix places = matrix_of(read_npy(places_file.front()));
  ASSERT_EQ(places.rows(), std::ssize(evaluation_.predictions));
  for (int q = 0; q < places.rows(); ++q) {
    const std::vector<Match>& found = evaluation_.predictions[q];
    ASSERT_GE(std::ssize(found), places.cols());
    for (int k = 0; k < places.cols(); ++k) {
      EXPECT_EQ(found[k].place, places(q, k)) << "query " << q << ", rank " << k;
    }
  }
  if (distances_file.empty()) return leave_out("distances_top*.npy");
  const Matrix distances = matrix_of(read_npy(distances_file.front()));
  const double tolerance = std::stod(found_in(at("tolerance"), "distances ([-+.0-9e]+)"));
  ASSERT_EQ(distances.rows(), places.rows());
  ASSERT_EQ(distances.cols(), places.cols());
  for (int q = 0; q < places.rows(); ++q) {
    for (int k = 0; k < places.cols(); ++k) {
      const float score = evaluation_.predictions[q][k].score;  // cosine of unit vectors
      EXPECT_NEAR(2 - 2 * score, distances(q, k), tolerance) << "query " << q << ", rank " << k;
    }
  }
}

TEST_F(EvaluationGolden, Recall) {
  const std::vector<int> ks = config().at("recall_values");
  for (std::size_t i = 0; i < ks.size(); ++i) {
    // Exact but for the order of the division and the factor 100.
    EXPECT_DOUBLE_EQ(evaluation_.recall.at(ks[i]), at("recalls").at(i)) << ks[i];
  }
  EXPECT_EQ(evaluation_.line(), at("recalls_line"));
}

TEST_F(EvaluationGolden, SavedPredictions) {
  SavePredictionsOptions options;
  options.num_preds = config().at("num_preds_to_save");
  EXPECT_EQ(save_predictions(out_.path(), dataset_, evaluation_, options), evaluation_.queries);
  for (int q = 0; q < evaluation_.queries; ++q) {
    const std::string name = fmt::format("preds/{:03}", q);
    const Image sheet = load_image(out_ / (name + ".jpg"));
    EXPECT_EQ(sheet.width, (1 + options.num_preds) * 512 + options.num_preds * 50);
    EXPECT_EQ(sheet.height, 612);
    EXPECT_TRUE(fs::exists(out_ / (name + ".txt")));
  }
  int compared = 0;
  if (!fs::exists("preds")) return leave_out("preds");
  for (const auto& entry : fs::directory_iterator("preds")) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path().string());
    const std::string expected = read_text(entry.path());
    const std::string written = read_text(out_ / entry.path().string());
    EXPECT_EQ(written.size(), expected.size());
    EXPECT_EQ(parts(written), parts(expected));
    if (parts(expected).second.size() < 2) {
      EXPECT_EQ(written, expected);
    }
    ++compared;
  }
  if (compared == 0) leave_out("preds/*.txt");
}

TEST_F(EvaluationGolden, SavedDescriptors) {
  save_descriptors(out_.path(), evaluation_);
  for (const std::string name : {"database_descriptors.npy", "queries_descriptors.npy"}) {
    EXPECT_EQ(read_npy(out_ / name).dtype, DType::F32);
    EXPECT_EQ(matrix_of(read_npy(out_ / name)), matrix_of(read_npy(name)));
  }
}

}  // namespace
}  // namespace ria
