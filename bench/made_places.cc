// SPDX-License-Identifier: MIT
#include "made_places.h"

#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <numeric>

#include "ria/recognizer.h"
#include "ria/simulate.h"
#include "util/parallel.h"
#include "util/random.h"

namespace ria::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kStreet = 240;  // places
constexpr int kKnot = 4;      // places from one view of a street to the next

/// a b, all cores.
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows(), b.cols());
  cblas_sgemm(CblasRowMajor,
              CblasNoTrans,
              CblasNoTrans,
              a.rows(),
              b.cols(),
              a.cols(),
              1,
              a.data(),
              a.cols(),
              b.data(),
              b.cols(),
              0,
              c.data(),
              b.cols());
  return c;
}

Matrix product_transposed(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows(), b.rows());
  cblas_sgemm(CblasRowMajor,
              CblasNoTrans,
              CblasTrans,
              a.rows(),
              b.rows(),
              a.cols(),
              1,
              a.data(),
              a.cols(),
              b.data(),
              b.cols(),
              0,
              c.data(),
              b.rows());
  return c;
}

void to_unit(std::span<float> values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  for (float& value : values) value = static_cast<float>(value / std::sqrt(squares));
}

/// Two normal numbers at a time.
void add_normal(SplitMix64 random, float weight, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    const double turn = 2 * std::numbers::pi * random.uniform();
    to[i] += weight * static_cast<float>(radius * std::cos(turn));
    if (i + 1 < to.size()) to[i + 1] += weight * static_cast<float>(radius * std::sin(turn));
  }
}

/// Cheaper, for what is spread over all directions: sums of a few bytes.
void add_noise(SplitMix64 random, float deviation, std::span<float> to) {
  // A byte is uniform: its deviation is 73.9.
  const float weight = deviation / 73.9f / std::sqrt(2.0f);
  for (std::size_t i = 0; i < to.size(); i += 4) {
    const std::uint64_t bits = random.next();
    for (std::size_t j = 0; j < 4 && i + j < to.size(); ++j) {
      const int sum =
          static_cast<int>(bits >> (16 * j) & 255) + static_cast<int>(bits >> (16 * j + 8) & 255);
      to[i + j] += weight * static_cast<float>(sum - 255);
    }
  }
}

}  // namespace

Contrast contrast_of(const Matrix& places,
                     const Matrix& queries,
                     const std::vector<std::vector<int>>& positives) {
  const Matrix cosines = product_transposed(queries, places);
  Contrast all;
  int known = 0;
  for (int q = 0; q < queries.rows(); ++q) {
    double sum = 0, distances = 0, best = -1, right = -1;
    for (const float cosine : cosines.row(q)) {
      sum += cosine;
      distances += std::sqrt(std::max(0.0, 2 - 2 * double{cosine}));
      best = std::max(best, double{cosine});
    }
    all.nearest_over_mean +=
        std::sqrt(std::max(0.0, 2 - 2 * best)) / (distances / places.rows()) / queries.rows();
    all.mean += sum / places.rows() / queries.rows();
    if (positives.empty() || positives[q].empty()) continue;
    for (const int place : positives[q]) right = std::max(right, double{cosines.row(q)[place]});
    all.positive += right;
    ++known;
  }
  if (known > 0) all.positive /= known;
  return all;
}

std::vector<int> asked_places(int places) {
  constexpr int kAsked = 200;
  std::vector<int> asked;
  for (int q = 0; q < kAsked; ++q) {
    asked.push_back(static_cast<int>(std::int64_t{q} * places / kAsked));
  }
  return asked;
}

MadePlaces::MadePlaces(std::uint64_t seed) : seed_(seed) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("ria_street_{}", ::getpid());
  SimulateOptions street;
  street.places = kStreet;
  const SimulatedFolders made = simulate(folder, street);
  const Recognizer recognizer("resnet50-ria");
  RunOptions run;
  run.resume = false;
  street_[0] = recognizer.describe(list_pictures(made.database), run).descriptors;
  street_[1] = recognizer.describe(list_pictures(made.queries), run).descriptors;
  fs::remove_all(folder);
  const Matrix& first = street_[0];
  mean_.assign(static_cast<std::size_t>(dim()), 0);
  for (int i = 0; i < first.rows(); ++i) {
    for (int j = 0; j < dim(); ++j) mean_[j] += first.row(i)[j] / static_cast<float>(first.rows());
  }
  directions_ = first;
  for (int i = 0; i < first.rows(); ++i) {
    for (int j = 0; j < dim(); ++j) {
      directions_.row(i)[j] =
          (directions_.row(i)[j] - mean_[j]) / std::sqrt(static_cast<float>(first.rows()));
    }
  }
  // What the second drive has beside the span of the first: Gram-Schmidt on the first.
  Matrix basis = directions_;
  for (int i = 0; i < basis.rows(); ++i) {
    for (int k = 0; k < i; ++k) {
      const float along = cblas_sdot(dim(), basis.row(i).data(), 1, basis.row(k).data(), 1);
      cblas_saxpy(dim(), -along, basis.row(k).data(), 1, basis.row(i).data(), 1);
    }
    const float length = cblas_snrm2(dim(), basis.row(i).data(), 1);
    cblas_sscal(dim(), length > 1e-5f ? 1 / length : 0, basis.row(i).data(), 1);
  }
  for (int q = 0; q < street_[1].rows(); ++q) {
    std::vector<float> off(street_[1].row(q).begin(), street_[1].row(q).end());
    for (int j = 0; j < dim(); ++j) off[j] -= mean_[j];
    for (int k = 0; k < basis.rows(); ++k) {
      const float along = cblas_sdot(dim(), off.data(), 1, basis.row(k).data(), 1);
      cblas_saxpy(dim(), -along, basis.row(k).data(), 1, off.data(), 1);
    }
    const double length = cblas_snrm2(dim(), off.data(), 1);
    beside_ += length * length / dim() / street_[1].rows();
  }
}

Matrix MadePlaces::places(int first, int count) const {
  const int rank = directions_.rows();
  Matrix weights(count, rank);
  parallel_for(count, 0, [&](int i) {
    const auto number = static_cast<std::uint64_t>(first + i);
    const auto knot = number / kKnot;
    const double turn = static_cast<double>(number % kKnot) / kKnot * std::numbers::pi / 2;
    add_normal(SplitMix64(mixed_seed({seed_, 1, knot})),
               static_cast<float>(std::cos(turn)),
               weights.row(i));
    add_normal(SplitMix64(mixed_seed({seed_, 1, knot + 1})),
               static_cast<float>(std::sin(turn)),
               weights.row(i));
  });
  Matrix rows = product(weights, directions_);
  parallel_for(count, 0, [&](int i) {
    const auto number = static_cast<std::uint64_t>(first + i);
    for (int j = 0; j < dim(); ++j) rows.row(i)[j] += mean_[j];
    add_noise(SplitMix64(mixed_seed({seed_, 2, number})),
              static_cast<float>(std::sqrt(beside_)),
              rows.row(i));
    to_unit(rows.row(i));
  });
  return rows;
}

Matrix MadePlaces::queries(const std::vector<int>& numbers) const {
  Matrix rows(static_cast<int>(numbers.size()), dim());
  for (int i = 0; i < rows.rows(); ++i) {
    const Matrix place = places(numbers[i], 1);
    SplitMix64 random(mixed_seed({seed_, 3, static_cast<std::uint64_t>(numbers[i])}));
    const auto pair = static_cast<int>(random.below(static_cast<std::uint64_t>(street_[1].rows())));
    for (int j = 0; j < dim(); ++j) {
      rows.row(i)[j] = place.row(0)[j] + street_[1].row(pair)[j] - street_[0].row(pair)[j];
    }
    to_unit(rows.row(i));
  }
  return rows;
}

Contrast MadePlaces::street_contrast() const {
  std::vector<std::vector<int>> positives;
  for (int q = 0; q < street_[1].rows(); ++q) positives.push_back({q});
  return contrast_of(street_[0], street_[1], positives);
}

}  // namespace ria::bench
