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

constexpr int kStreet = 960;  // places
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

std::vector<float> mean_of(const Matrix& rows) {
  std::vector<float> mean(static_cast<std::size_t>(rows.cols()), 0.0f);
  for (int i = 0; i < rows.rows(); ++i) {
    for (int j = 0; j < rows.cols(); ++j) {
      mean[j] += rows.row(i)[j] / static_cast<float>(rows.rows());
    }
  }
  return mean;
}

Matrix less(const Matrix& rows, const std::vector<float>& mean) {
  Matrix apart = rows;
  for (int i = 0; i < rows.rows(); ++i) {
    for (int j = 0; j < rows.cols(); ++j) apart.row(i)[j] -= mean[j];
  }
  return apart;
}

double dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Takes out of `row` what it has along rows of length one, or zero.
void take_out(const Matrix& basis, int count, std::span<float> row) {
  for (int k = 0; k < count; ++k) {
    const auto along = static_cast<float>(dot(row, basis.row(k)));
    cblas_saxpy(basis.cols(), -along, basis.row(k).data(), 1, row.data(), 1);
  }
}

/// Share of the odd rows' squares that lies outside the span of the even ones.
double share_beside(const Matrix& rows) {
  Matrix basis(rows.rows() / 2, rows.cols());
  for (int i = 0; i < basis.rows(); ++i) {
    const auto row = basis.row(i);
    std::ranges::copy(rows.row(2 * i), row.begin());
    for (int again = 0; again < 2; ++again) take_out(basis, i, row);
    const double length = std::sqrt(dot(row, row));
    for (float& value : row) value = length > 1e-4 ? static_cast<float>(value / length) : 0;
  }
  double all = 0, beside = 0;
  for (int i = 1; i < rows.rows(); i += 2) {
    std::vector<float> row(rows.row(i).begin(), rows.row(i).end());
    all += dot(row, row);
    take_out(basis, basis.rows(), row);
    beside += dot(row, row);
  }
  return beside / all;
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
  const Recognizer recognizer("resnet50-ria");
  RunOptions run;
  run.resume = false;
  SimulateOptions street;
  street.places = kStreet;
  street.query_condition = Condition::kDay;
  street.lateral_offset = 3;
  street.heading_offset = 8;
  const SimulatedFolders made = simulate(folder, street);
  first_ = recognizer.describe(list_pictures(made.database), run).descriptors;
  second_ = recognizer.describe(list_pictures(made.queries), run).descriptors;
  fs::remove_all(folder);
  mean_ = mean_of(first_);
  directions_ = less(first_, mean_);
  const Matrix apart = less(second_, mean_of(second_));
  const double squares = dot(directions_.values(), directions_.values());
  remains_ = static_cast<float>(dot(directions_.values(), apart.values()) / squares);
  const double share = share_beside(directions_);
  beside_ = std::sqrt(share * squares / directions_.rows() / dim());
  for (float& value : directions_.values()) {
    value *= static_cast<float>(std::sqrt((1 - share) / directions_.rows()));
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
    add_noise(SplitMix64(mixed_seed({seed_, 2, number})), static_cast<float>(beside_), rows.row(i));
    to_unit(rows.row(i));
  });
  return rows;
}

Matrix MadePlaces::queries(const std::vector<int>& numbers) const {
  Matrix rows(static_cast<int>(numbers.size()), dim());
  for (int i = 0; i < rows.rows(); ++i) {
    const Matrix place = places(numbers[i], 1);
    SplitMix64 random(mixed_seed({seed_, 3, static_cast<std::uint64_t>(numbers[i])}));
    const auto pair = static_cast<int>(random.below(static_cast<std::uint64_t>(first_.rows())));
    for (int j = 0; j < dim(); ++j) {
      const float apart = place.row(0)[j] - first_.row(pair)[j];
      rows.row(i)[j] = second_.row(pair)[j] + remains_ * apart;
    }
    to_unit(rows.row(i));
  }
  return rows;
}

Contrast MadePlaces::street_contrast() const {
  std::vector<std::vector<int>> positives;
  for (int q = 0; q < second_.rows(); ++q) positives.push_back({q});
  return contrast_of(first_, second_, positives);
}

}  // namespace ria::bench
