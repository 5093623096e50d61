// SPDX-License-Identifier: MIT
// An evaluation as VPR-methods-evaluation ran it: its folders, answers, recall and files.
#include <set>

#include "golden/golden.h"
#include "ria/ria.h"
#include "temporary_folder.h"
#include "tensor_matrix.h"
#include "util/files.h"
#include "weights/npy.h"

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

class EvaluationGolden : public testing::Test {
 protected:
  void SetUp() override {
    RIA_NEEDS_GOLDEN("evaluation");
    case_ = load_case("evaluation");
    here_ = std::make_unique<WorkingFolder>(golden_dir() / "evaluation");
    const auto& config = case_["config"];
    dataset_ = load_at_named(
        "images/database", "images/queries", config["positive_dist_threshold"].get<double>());
    evaluation_.method = "stored descriptors";
    evaluation_.queries = config["queries"];
    evaluation_.database = config["database"];
    evaluation_.dim = config["dim"];
    evaluation_.database_descriptors = matrix_of(read_npy("database_descriptors.npy"));
    evaluation_.query_descriptors = matrix_of(read_npy("queries_descriptors.npy"));
    Index index({evaluation_.method, "{}", "", "", evaluation_.dim});
    index.add(evaluation_.database_descriptors, strings(dataset_.database));
    evaluation_.predictions = index.search(evaluation_.query_descriptors, 20);
    judge(dataset_, config["recall_values"], evaluation_);
  }

  nlohmann::json case_;
  std::unique_ptr<WorkingFolder> here_;
  Dataset dataset_;
  Evaluation evaluation_;
  TemporaryFolder out_;
};

TEST_F(EvaluationGolden, FoldersAndPositives) {
  EXPECT_EQ(strings(dataset_.database), case_["database_paths"]);
  EXPECT_EQ(strings(dataset_.queries), case_["queries_paths"]);
  EXPECT_EQ(dataset_.positives, case_["positives_sorted"]);
}

TEST_F(EvaluationGolden, Predictions) {
  const Matrix places = matrix_of(read_npy("predictions_top20.npy")),
               distances = matrix_of(read_npy("distances_top20.npy"));
  ASSERT_EQ(places.rows(), std::ssize(evaluation_.predictions));
  for (Eigen::Index q = 0; q < places.rows(); ++q) {
    const std::vector<Match>& found = evaluation_.predictions[q];
    ASSERT_EQ(std::ssize(found), places.cols());
    for (Eigen::Index k = 0; k < places.cols(); ++k) {
      EXPECT_EQ(found[k].place, places(q, k)) << "query " << q << ", rank " << k;
      EXPECT_NEAR(2 - 2 * found[k].score, distances(q, k), 1e-5);  // of unit vectors
    }
  }
}

TEST_F(EvaluationGolden, Recall) {
  const std::vector<int> ks = case_["config"]["recall_values"];
  for (std::size_t i = 0; i < ks.size(); ++i) {
    EXPECT_EQ(evaluation_.recall.at(ks[i]), case_["recalls"][i]) << ks[i];
  }
  EXPECT_EQ(evaluation_.line(), case_["recalls_line"]);
}

TEST_F(EvaluationGolden, SavedPredictions) {
  SavePredictionsOptions options;
  options.num_preds = case_["config"]["num_preds_to_save"];
  EXPECT_EQ(save_predictions(out_.path(), dataset_, evaluation_, options), 20);
  int compared = 0;
  for (const auto& entry : fs::directory_iterator("preds")) {
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
  EXPECT_EQ(compared, 4);
  for (int q = 0; q < 20; ++q) {
    const std::string name = (q < 10 ? "preds/00" : "preds/0") + std::to_string(q);
    const Image sheet = load_image(out_ / (name + ".jpg"));
    EXPECT_EQ(sheet.width, 6 * 512 + 5 * 50);
    EXPECT_EQ(sheet.height, 612);
    EXPECT_TRUE(fs::exists(out_ / (name + ".txt")));
  }
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
