// SPDX-License-Identifier: MIT
#include "study/study.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "util/nearest_name.h"

namespace ria {

namespace {

struct OtherStudy {
  StudyInfo info;
  StudyResult (*run)(const Dataset&, const StudyOptions&);
};

const std::vector<OtherStudy>& other_studies() {
  static const std::vector<OtherStudy> all = {
      {{"dimension",
        "Projected dimension and iterations",
        "table 7",
        "d, exact and Newton-Schulz root with K steps: recall and measured speed-up"},
       study_dimension},
      {{"drift",
        "Drift under brightness and rotation",
        "figure 3",
        "1 - cosine of a picture's descriptor and that of its darkened or turned copy"},
       study_drift},
      {{"homography",
        "Drift under random homographies",
        "appendix, homography drift",
        "1 - cosine under projective changes of growing size"},
       study_homography},
      {{"ns-error",
        "Error of the Newton-Schulz root",
        "appendix, approximation error",
        "relative Frobenius error to the exact root for K steps"},
       study_ns_error},
      {{"seeds",
        "Seeds of the random projection",
        "appendix, seed sensitivity",
        "recall for the paper's ten seeds"},
       study_seeds},
      {{"tau-eps",
        "Threshold and regularisation",
        "appendix, sensitivity grid",
        "R@1 on a grid of 6 x 6 values of tau and eps"},
       study_tau_eps}};
  return all;
}

/// Those of the evaluations, each picture once.
void add_failures(StudyResult& result) {
  std::set<std::string> named;
  for (const Failure& failure : result.failures) named.insert(failure.file);
  for (const Evaluation& evaluation : result.evaluations) {
    for (const Failure& failure : evaluation.failures) {
      if (named.insert(failure.file).second) result.failures.push_back(failure);
    }
  }
}

}  // namespace

void StudyOptions::validate() const {
  if (pictures < 1) {
    throw std::invalid_argument(fmt::format("pictures is {}, at least 1 was expected", pictures));
  }
  if (!other_pictures.empty()) list_pictures(other_pictures);  // throws unless there are some
  method_name("", backbone, "ria", 0);
  method.validate();
}

const std::vector<StudyInfo>& studies() {
  static const std::vector<StudyInfo> all = [] {
    std::vector<StudyInfo> infos;
    for (const RecallStudy& study : recall_studies()) infos.push_back(study.info);
    for (const OtherStudy& study : other_studies()) infos.push_back(study.info);
    return infos;
  }();
  return all;
}

std::vector<std::filesystem::path> some_pictures(const Dataset& dataset, int count) {
  std::vector<std::filesystem::path> all = dataset.database;
  all.insert(all.end(), dataset.queries.begin(), dataset.queries.end());
  const std::size_t kept = std::min(all.size(), static_cast<std::size_t>(count));
  std::vector<std::filesystem::path> chosen;
  for (std::size_t i = 0; i < kept; ++i) chosen.push_back(all[i * all.size() / kept]);
  return chosen;
}

StudyResult run_study(const std::string& name,
                      const Dataset& dataset,
                      const StudyOptions& options) {
  options.validate();
  const auto finished = [&](StudyResult result, const StudyInfo& info) {
    add_failures(result);
    result.study = info.name;
    result.title = fmt::format("{} ({})", info.title, info.paper);
    result.dataset = dataset.name;
    result.notes.insert(result.notes.begin(),
                        fmt::format("Measured on {}: {} queries, {} places.",
                                    dataset.name,
                                    dataset.queries.size(),
                                    dataset.database.size()));
    return result;
  };
  for (const RecallStudy& study : recall_studies()) {
    if (study.info.name == name)
      return finished(run_recall_study(study, dataset, options), study.info);
  }
  for (const OtherStudy& study : other_studies()) {
    if (study.info.name == name) return finished(study.run(dataset, options), study.info);
  }
  std::vector<std::string> known;
  for (const StudyInfo& info : studies()) known.push_back(info.name);
  throw std::invalid_argument(unknown_name("study", name, known));
}

}  // namespace ria
