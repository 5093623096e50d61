// SPDX-License-Identifier: MIT
// RIA beyond the paper: its laws, and its definition step by step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <random>

#include "ria/aggregator.h"
#include "ria/backbone.h"
#include "ria/eigen.h"
#include "support/error_message.h"

namespace ria {
namespace {

using testing::HasSubstr;

Matrix random_matrix(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix out(rows, columns);
  for (float& value : out.values()) value = normal(engine);
  return out;
}

PatchFeatures random_features(int height, int width, int dim, unsigned seed) {
  return {random_matrix(height * width, dim, seed), height, width, {}};
}

/// Where a head's values begin: heads of half the size, the last one smaller by one.
int head_begin(int d, int head) { return head * (d / 2) * (d / 2 + 1) / 2; }

TEST(Riax, HasTheLengthOfRia) {
  for (const int d : {8, 64, 128, 256}) {
    const auto head = make_riax(160, {.d = d});
    EXPECT_EQ(head->dim(), d * (d + 1) / 2);
    EXPECT_EQ(std::ssize(head->aggregate(random_features(9, 7, 160, 1))), head->dim());
  }
}

TEST(Riax, LeavesBrightnessOut) {
  const PatchFeatures features = random_features(12, 10, 40, 2);
  const auto head = make_riax(40, {.d = 32}, random_matrix(24, 40, 3));
  const Descriptor as_is = head->aggregate(features);
  for (const float factor : {0.25f, 3.0f}) {
    PatchFeatures other = features;
    as_eigen(other.patches) *= factor;
    EXPECT_LT((as_eigen(head->aggregate(other)) - as_eigen(as_is)).norm(), 1e-5) << factor;
  }
  // Nor does the scale of what the next layer's weights are in.
  Matrix reading = random_matrix(24, 40, 3);
  as_eigen(reading) *= 5;
  const auto same = make_riax(40, {.d = 32}, reading);
  EXPECT_LT((as_eigen(same->aggregate(features)) - as_eigen(as_is)).norm(), 1e-5);
}

TEST(Riax, SameBitsOnAnyNumberOfCores) {
  const PatchFeatures features = random_features(40, 30, 96, 4);
  const auto head = make_riax(96, {.d = 64});
  set_thread_cores(1);
  const Descriptor one = head->aggregate(features);
  for (const int cores : {2, 3, 0}) {
    set_thread_cores(cores);
    EXPECT_EQ(head->aggregate(features), one) << cores;
    EXPECT_EQ(make_riax(96, {.d = 64})->aggregate(features), one) << cores;
  }
  set_thread_cores(0);
  EXPECT_NE(make_riax(96, {.d = 64, .seed = 43})->aggregate(features), one);
}

/// Column c of every row of patches from column from(c).
template <typename From>
PatchFeatures moved_across(const PatchFeatures& features, From from) {
  PatchFeatures moved = features;
  for (int i = 0; i < features.patches.rows(); ++i) {
    const int c = i % features.grid_width;
    const auto row = features.patches.row(i - c + from(c));
    std::copy(row.begin(), row.end(), moved.patches.row(i).begin());
  }
  return moved;
}

TEST(Riax, DoesNotAskWhereThingsAreAcross) {
  const int width = 9;
  const PatchFeatures features = random_features(10, width, 20, 5);
  const auto head = make_riax(20, {.d = 16});
  const auto likeness = [&](const PatchFeatures& other) {
    return as_eigen(head->aggregate(features)).dot(as_eigen(head->aggregate(other)));
  };
  const PatchFeatures mirrored = moved_across(features, [](int c) { return width - 1 - c; });
  EXPECT_GT(likeness(mirrored), 0.999999);
  // Neighbours are other ones only where columns meet that did not.
  const PatchFeatures turned = moved_across(features, [](int c) { return (c + 4) % width; });
  EXPECT_GT(likeness(turned), 0.9);
  EXPECT_LT(likeness(turned), 0.9999);
  PatchFeatures upside_down = features;
  as_eigen(upside_down.patches) = as_eigen(features.patches).colwise().reverse().eval();
  EXPECT_LT(likeness(upside_down), 0.9) << "but where they are down";
}

TEST(Riax, AWindowIsAHead) {
  const int d = 24;
  PatchFeatures features = random_features(25, 8, 32, 6);
  const auto head = make_riax(32, {.d = d});
  const Descriptor before = head->aggregate(features);
  for (float& value : features.patches.row(24 * 8 + 3))
    value = -value;  // the lowest row of patches
  const Descriptor after = head->aggregate(features);
  for (int i = 0; i < head_begin(d, 3); ++i) ASSERT_EQ(before[i], after[i]) << i;
  EXPECT_NE(before, after);
}

/// The definition, patch by patch.
Eigen::VectorXd plain(const PatchFeatures& features,
                      const RiaxOptions& options,
                      const Matrix& reading) {
  const int height = features.grid_height - 1, width = features.grid_width - 1;
  std::vector<double> all;
  for (int head = 0; head < 4; ++head) {
    const int kept = options.d / 2 - (head == 3 ? 1 : 0);
    const Matrix random =
        random_orthogonal(reading.rows(), kept, options.seed + head * (std::uint32_t{1} << 30));
    const Eigen::MatrixXd p = (as_eigen(reading).transpose() * as_eigen(random)).cast<double>();
    const int count = static_cast<int>(std::lround(height / 3.0));
    const int first = static_cast<int>(std::lround(head * (height - count) / 3.0));
    Eigen::MatrixXd x(count * width, kept);
    for (int r = 0; r < count; ++r) {
      for (int c = 0; c < width; ++c) {
        Eigen::VectorXd sum = Eigen::VectorXd::Zero(kept);
        for (const int at : {0, 1, width + 1, width + 2}) {
          const Eigen::VectorXd patch =
              as_eigen(features.patches).row((first + r) * (width + 1) + c + at).cast<double>();
          sum += p.transpose() * patch.normalized();
        }
        x.row(r * width + c) = sum.transpose() / 4;
      }
    }
    x.rowwise() -= x.colwise().mean().eval();
    Eigen::MatrixXd covariance = x.transpose() * x / x.rows();
    covariance.diagonal().array() += options.shrinkage * covariance.trace() / kept;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
    Eigen::VectorXd logs = solver.eigenvalues().array().log();
    logs.array() -= logs.mean();
    const Eigen::MatrixXd log =
        solver.eigenvectors() * logs.asDiagonal() * solver.eigenvectors().transpose();
    const double norm = 2 * log.norm();  // four heads of length one
    for (int i = 0; i < kept; ++i) all.push_back(log(i, i) / norm);
    for (int i = 0; i < kept; ++i) {
      for (int j = i + 1; j < kept; ++j) all.push_back(std::sqrt(2.0) * log(i, j) / norm);
    }
  }
  return Eigen::Map<Eigen::VectorXd>(all.data(), std::ssize(all));
}

TEST(Riax, IsWhatItsDefinitionSays) {
  const PatchFeatures features = random_features(17, 30, 48, 8);
  const Matrix reading = random_matrix(36, 48, 9);
  const RiaxOptions options{.d = 32, .seed = 7};
  const Descriptor fast = make_riax(48, options, reading)->aggregate(features);
  EXPECT_LT((as_eigen(fast).cast<double>() - plain(features, options, reading)).norm(), 2e-5);
}

TEST(Riax, WindowsOfOneColourCountNothing) {
  PatchFeatures features = random_features(25, 6, 16, 10);
  for (int i = 0; i < 13 * 6; ++i) std::ranges::fill(features.patches.row(i), 0.5f);
  const auto head = make_riax(16, {.d = 16});
  const Descriptor night = head->aggregate(features);
  EXPECT_NEAR(as_eigen(night).norm(), 1, 1e-5);
  for (int i = 0; i < head_begin(16, 1); ++i) ASSERT_EQ(night[i], 0);
  std::ranges::fill(features.patches.values(), 0.5f);
  EXPECT_THAT(message_of([&] { head->aggregate(features); }), HasSubstr("carry no information"));
}

TEST(Riax, GridsOfOneRowOrColumnAndFurtherScales) {
  const auto head = make_riax(16, {.d = 16});
  for (const auto& [height, width] : {std::pair{1, 12}, {12, 1}, {2, 2}, {1, 3}}) {
    EXPECT_NEAR(as_eigen(head->aggregate(random_features(height, width, 16, 11))).norm(), 1, 1e-5);
  }
  PatchFeatures features = random_features(8, 6, 16, 12);
  const Descriptor grid = head->aggregate(features);
  features.patches.resize(60, 16);
  EXPECT_EQ(head->aggregate(features), grid);
  features.patches.resize(40, 16);
  EXPECT_THAT(message_of([&] { head->aggregate(features); }),
              HasSubstr("40 patches are no grid of 8 x 6"));
}

TEST(Riax, RefusesWhatItCannotDo) {
  EXPECT_THAT(message_of([] { make_riax(64, {.d = 63}); }), HasSubstr("d is 63, an even number"));
  EXPECT_THAT(message_of([] { make_riax(16, {.d = 64}); }), HasSubstr("d is 64, at most 32"));
  EXPECT_THAT(message_of([] { make_riax(64, {.shrinkage = 0}); }), HasSubstr("shrinkage is 0"));
  EXPECT_THAT(message_of([] { make_riax(16, {.d = 16}, Matrix(9, 8, 1.0f)); }),
              HasSubstr("reading has 8 columns, the features have 16"));
  EXPECT_THAT(message_of([] { make_riax(8, {.d = 16}, Matrix(9, 8)); }),
              HasSubstr("reading is zero"));
}

}  // namespace
}  // namespace ria
