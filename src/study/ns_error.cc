// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "ria/eigen.h"
#include "ria/manifold.h"
#include "ria/version.h"
#include "study/per_picture.h"
#include "study/study.h"

namespace ria {

namespace {

constexpr int kIterations[] = {1, 3, 5, 10};
constexpr std::size_t kCount = std::size(kIterations);

/// Of M = Y sqrt(|C|) for every number of steps, then of Y, as the paper's caption is written.
std::vector<float> errors_of(const MatrixD& c) {
  const EigenMatrixD exact = as_eigen(matrix_power(c, 0.5));
  const double norm = exact.norm(), scale = std::sqrt(as_eigen(c).norm());
  std::vector<float> errors(2 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const EigenMatrixD root = as_eigen(newton_schulz_sqrt(c, kIterations[i]));
    errors[i] = static_cast<float>((root - exact).norm() / norm);
    errors[kCount + i] = static_cast<float>((root / scale - exact).norm() / norm);
  }
  return errors;
}

/// Of one value over all pictures.
StudyField mean_and_deviation(const std::vector<std::vector<float>>& all, std::size_t value) {
  double sum = 0, squares = 0;
  for (const auto& one : all) {
    sum += one[value];
    squares += static_cast<double>(one[value]) * one[value];
  }
  const auto n = static_cast<double>(all.size());
  const double mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  return {fmt::format("{:.4g} +- {:.2g}", mean, deviation), mean, false};
}

}  // namespace

StudyResult study_ns_error(const Dataset& dataset, const StudyOptions& options) {
  const Recognizer recognizer(options.backbone + "-ria", options.method);
  const RiaOptions& ria = recognizer.options().ria;
  const Matrix projection = random_orthogonal(recognizer.backbone().dim(), ria.d, ria.seed);
  const auto pictures = some_pictures(dataset, options.pictures);
  const MapHeader header = recognizer.header();
  PictureValues measured = measure_pictures(
      pictures,
      fmt::format("ns-error {} {} {}", RIA_VERSION, header.options, header.weights_sha256),
      2 * kCount,
      options.evaluate.run,
      [&](int i) {
        const PatchFeatures features = recognizer.backbone().extract(preprocess(
            load_image(pictures[i], recognizer.preprocessing().load), recognizer.preprocessing()));
        return errors_of(ria_covariance(features, ria, projection));
      });
  StudyResult result;
  result.failures = std::move(measured.failures);
  StudyTable table;
  table.title =
      fmt::format("Relative error over {} pictures of {}", measured.values.size(), dataset.name);
  table.columns = {"|M - C^1/2|", "|Y - C^1/2| (literal)"};
  StudyPlot::Series line{fmt::format("{}, d = {}", options.backbone, ria.d), {}, {}, {}, {}};
  for (std::size_t i = 0; i < kCount; ++i) {
    table.rows.push_back({fmt::format("K = {}", kIterations[i]),
                          {mean_and_deviation(measured.values, i),
                           mean_and_deviation(measured.values, kCount + i)}});
    line.x.push_back(kIterations[i]);
    line.y.push_back(*table.rows.back().fields[0].value);
  }
  result.tables.push_back(std::move(table));
  result.plots.push_back(
      {"Error of the root after K steps", "K", "relative Frobenius error", {std::move(line)}});
  result.notes.push_back(
      "The paper writes Y_K for what can only be M = Y_K sqrt(|C|): the literal reading does not "
      "fall with K.");
  set_beside_paper(paper_ns_error(), dataset, options, result);
  return result;
}

}  // namespace ria
