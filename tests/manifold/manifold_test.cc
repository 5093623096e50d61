// SPDX-License-Identifier: MIT
// Laws of the SPD maths, on random matrices.
#include "ria/manifold.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <random>

#include "ria/aggregator.h"
#include "ria/backbone.h"
#include "ria/eigen.h"

namespace ria {
namespace {

EigenMatrixD random_matrix(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  return EigenMatrixD::NullaryExpr(rows, columns, [&] { return normal(engine); });
}

/// Eigenvalues spread over two decades, as covariances of features have.
EigenMatrixD random_spd(int d, unsigned seed) {
  const EigenMatrixD a = random_matrix(d, 3 * d, seed);
  return EigenMatrixD(a * a.transpose() / (3.0 * d)) + 1e-2 * EigenMatrixD::Identity(d, d);
}

EigenMatrixD random_rotation(int d, unsigned seed) {
  return as_eigen(random_orthogonal(d, d, seed)).cast<double>();
}

PatchFeatures random_features(int patches, int dim, unsigned seed) {
  return {to_matrix(random_matrix(patches, dim, seed).cast<float>()), 1, patches, {}};
}

PatchFeatures scaled(PatchFeatures features, float factor) {
  as_eigen(features.patches) *= factor;
  return features;
}

float product(const Descriptor& a, const Descriptor& b) { return as_eigen(a).dot(as_eigen(b)); }

TEST(Manifold, VectorisationIsAnIsometry) {
  for (const int d : {1, 2, 7, 64}) {
    const EigenMatrixD a = random_spd(d, 1), b = random_spd(d, 2);
    const EigenVectorD v = as_eigen(vectorize(to_matrix(a))), w = as_eigen(vectorize(to_matrix(b)));
    const double frobenius = (a * b).trace();
    EXPECT_NEAR(v.dot(w), frobenius, 1e-12 * std::abs(frobenius)) << d;
    EXPECT_EQ(v.size(), d * (d + 1) / 2);
  }
}

TEST(Manifold, VectorisationOrderIsDiagonalThenUpperRows) {
  EigenMatrixD m(3, 3);
  m << 1, 4, 5, 4, 2, 6, 5, 6, 3;
  EigenVectorD expected(6);
  expected << 1, 2, 3, std::sqrt(2) * 4, std::sqrt(2) * 5, std::sqrt(2) * 6;
  EXPECT_TRUE(as_eigen(vectorize(to_matrix(m))).isApprox(expected, 1e-15));
}

TEST(Manifold, PowerIsHomogeneous) {
  const EigenMatrixD c = random_spd(16, 3);
  for (const double alpha : {0.1, 0.5, 1.0}) {
    const EigenMatrixD power = as_eigen(matrix_power(to_matrix(c), alpha));
    EXPECT_TRUE(as_eigen(matrix_power(to_matrix(4.0 * c), alpha))
                    .isApprox(std::pow(4.0, alpha) * power, 1e-10));
  }
}

TEST(Manifold, PowerDistanceIsInvariantToOrthogonalCongruence) {
  const EigenMatrixD a = random_spd(24, 4), b = random_spd(24, 5), q = random_rotation(24, 6);
  for (const double alpha : {0.1, 0.25, 0.5, 0.75, 1.0}) {
    const double distance = power_distance(to_matrix(a), to_matrix(b), alpha);
    const MatrixD turned_a = to_matrix(q * a * q.transpose());
    const MatrixD turned_b = to_matrix(q * b * q.transpose());
    EXPECT_GT(distance, 0.1);
    EXPECT_NEAR(power_distance(turned_a, turned_b, alpha), distance, 1e-5 * distance) << alpha;
  }
}

TEST(Manifold, LogarithmShiftsUnderScalingAndItsCentredFormDoesNot) {
  const EigenMatrixD c = random_spd(12, 7);
  const double s = 3;
  const MatrixD log = matrix_log(to_matrix(c)), log_scaled = matrix_log(to_matrix(s * s * c));
  const EigenMatrixD shifted = as_eigen(log) + 2 * std::log(s) * EigenMatrixD::Identity(12, 12);
  EXPECT_TRUE(as_eigen(log_scaled).isApprox(shifted, 1e-10));
  EXPECT_FALSE(as_eigen(log_scaled).isApprox(as_eigen(log), 1e-2));
  const MatrixD centred = remove_trace(log), centred_scaled = remove_trace(log_scaled);
  EXPECT_TRUE(as_eigen(centred_scaled).isApprox(as_eigen(centred), 1e-10));
  EXPECT_NEAR(as_eigen(centred).trace(), 0, 1e-12);
}

// By divide and conquer, against QR iterations on another tridiagonal form.
TEST(Manifold, LogarithmIsThatOfAnotherSolverAndTheSameBitsOnAnyCores) {
  for (const int d : {1, 2, 31, 64, 128}) {
    const EigenMatrixD a = random_matrix(d, d, 8);
    const EigenMatrixD c = a * a.transpose() / d + 1e-6 * EigenMatrixD::Identity(d, d);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(c);
    const EigenMatrixD exact = solver.eigenvectors() *
                               solver.eigenvalues().array().log().matrix().asDiagonal() *
                               solver.eigenvectors().transpose();
    const MatrixD log = matrix_log(to_matrix(c));
    EXPECT_LT((as_eigen(log) - exact).norm(), 1e-9 * exact.norm()) << d;
    for (const int cores : {1, 2}) {
      set_thread_cores(cores);
      EXPECT_EQ(matrix_log(to_matrix(c)), log) << d;
    }
    set_thread_cores(0);
  }
}

TEST(Manifold, LogarithmRefusesASingularMatrix) {
  EXPECT_THROW(matrix_log(MatrixD(3, 3)), std::invalid_argument);
}

TEST(Manifold, NewtonSchulzConvergesToTheExactRoot) {
  const MatrixD c = to_matrix(random_spd(32, 8));
  const EigenMatrixD exact = as_eigen(matrix_power(c, 0.5));
  double previous = 1;
  for (int k = 1; k <= 12; ++k) {
    const NewtonSchulz full = newton_schulz(c, k);
    const auto y = as_eigen(full.y), z = as_eigen(full.z), m = as_eigen(full.m);
    EXPECT_TRUE(as_eigen(newton_schulz_sqrt(c, k)).isApprox(m, 1e-12)) << k;
    const double error = newton_schulz_error(c, k);
    EXPECT_NEAR(error, (m - exact).norm() / exact.norm(), 1e-12);
    EXPECT_LT(error, std::max(previous, 1e-12)) << k;
    previous = error;
    // The coupled iterates stay each other's inverse on their way: z y -> I as y -> A0^(1/2).
    EXPECT_TRUE((z * y).isApprox(y * z, 1e-9)) << k;
  }
  EXPECT_LT(previous, 1e-10);
  const NewtonSchulz last = newton_schulz(c, 20);
  EXPECT_TRUE((as_eigen(last.z) * as_eigen(last.y)).isApprox(EigenMatrixD::Identity(32, 32), 1e-9));
}

TEST(Manifold, RecovKeepsTheDiagonalAndOnlyLargerEntries) {
  const MatrixD c(2, 2, {1e-9, 1e-5, 1e-5, 1e-9});
  EXPECT_EQ(recov(c, 1e-5)(0, 1), 0);  // strictly larger survives
  EXPECT_EQ(recov(c, 0.99e-5), c);
  EXPECT_EQ(recov(c, 1), MatrixD(2, 2, {1e-9, 0, 0, 1e-9}));
}

TEST(Manifold, SampleMomentsMatchTheDefinition) {
  const Matrix x = to_matrix(random_matrix(37, 5, 9).cast<float>());
  const EigenMatrixD xd = as_eigen(x).cast<double>();
  const EigenVectorD mean = xd.colwise().mean();
  EigenMatrixD sum = EigenMatrixD::Zero(5, 5);
  for (int i = 0; i < 37; ++i) {
    const EigenVectorD r = xd.row(i).transpose() - mean;
    sum += r * r.transpose();
  }
  EXPECT_TRUE(as_eigen(sample_moments(x).covariance).isApprox(sum / 36.0, 1e-12));
  EXPECT_EQ(sample_moments(to_matrix(as_eigen(x).topRows(1))).covariance, MatrixD(5, 5));
  EXPECT_THROW(sample_moments(Matrix(0, 5)), std::invalid_argument);
}

TEST(Ria, IsExactlyInvariantToScaleWithoutEps) {
  const PatchFeatures f = random_features(200, 48, 10);
  RiaOptions options;
  options.d = 16;
  options.normalize_patches = false;
  options.tau = options.eps = 0;
  for (const Mapping mapping : {Mapping::kNewtonSchulz,
                                Mapping::kPower,
                                Mapping::kIdentity,
                                Mapping::kLogEuclideanCentred}) {
    options.mapping = mapping;
    const auto head = make_ria(48, options);
    const Descriptor v = head->aggregate(f);
    for (const float s : {1e-3f, 0.37f, 4.0f, 1e3f}) {
      const Descriptor other = head->aggregate(scaled(f, s));
      EXPECT_LT((as_eigen(other) - as_eigen(v)).cwiseAbs().maxCoeff(), 2e-6f) << "s = " << s;
    }
    // A power of two changes exponents only: not one bit differs.
    if (mapping == Mapping::kNewtonSchulz || mapping == Mapping::kIdentity) {
      EXPECT_EQ(head->aggregate(scaled(f, 4)), v);
    }
  }
  options.mapping = Mapping::kLogEuclidean;
  const auto head = make_ria(48, options);
  const Descriptor shifted = head->aggregate(scaled(f, 4)), v = head->aggregate(f);
  EXPECT_GT((as_eigen(shifted) - as_eigen(v)).norm(), 0.1f);
}

TEST(Ria, DistancesAreInvariantToARotationOfTheFeatures) {
  RiaOptions options;
  options.projection = "none";
  options.tau = options.eps = 0;
  options.normalize_patches = false;
  const auto head = make_ria(12, options);
  PatchFeatures a = random_features(90, 12, 11), b = random_features(90, 12, 12);
  const float before = product(head->aggregate(a), head->aggregate(b));
  const Matrix q = random_orthogonal(12, 12, 13);
  as_eigen(a.patches) *= as_eigen(q);
  as_eigen(b.patches) *= as_eigen(q);
  EXPECT_NEAR(product(head->aggregate(a), head->aggregate(b)), before, 1e-6f);
}

TEST(Ria, IgnoresTheOrderOfPatches) {
  const PatchFeatures f = random_features(50, 32, 14);
  PatchFeatures reversed = f;
  as_eigen(reversed.patches) = as_eigen(f.patches).colwise().reverse();
  RiaOptions options;
  options.d = 8;
  const auto head = make_ria(32, options);
  const Descriptor v = head->aggregate(f), w = head->aggregate(reversed);
  EXPECT_LT((as_eigen(v) - as_eigen(w)).norm(), 1e-6f);
}

TEST(Ria, DegenerateInputIsDefinedOrRefused) {
  RiaOptions options;
  options.d = 8;
  const auto head = make_ria(32, options);
  // Fewer patches than dimensions: singular covariance, regularised by eps.
  EXPECT_NEAR(as_eigen(head->aggregate(random_features(3, 32, 15))).norm(), 1, 1e-6f);
  // Constant features and a single patch: no spread, C = eps I, a multiple of the identity.
  const EigenVector v = as_eigen(head->aggregate({Matrix(40, 32, 1.0f), 5, 8, {}}));
  EXPECT_LT((v.head(8).array() - 1 / std::sqrt(8.0f)).abs().maxCoeff(), 1e-4f);
  EXPECT_LT(v.tail(28).cwiseAbs().maxCoeff(), 1e-4f);
  EXPECT_LT((as_eigen(head->aggregate({Matrix(1, 32, 1.0f), 1, 1, {}})) - v).norm(), 1e-3f);
  // Zero patches cannot be normalised and count as zero.
  EXPECT_NEAR(as_eigen(head->aggregate({Matrix(10, 32), 2, 5, {}})).norm(), 1, 1e-6f);
  options.eps = 0;
  EXPECT_THROW(make_ria(32, options)->aggregate({Matrix(10, 32), 2, 5, {}}), std::invalid_argument);
  PatchFeatures nan = random_features(10, 32, 16);
  nan.patches(3, 4) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(head->aggregate(nan), std::invalid_argument);
  nan.patches(3, 4) = std::numeric_limits<float>::infinity();
  EXPECT_THROW(head->aggregate(nan), std::invalid_argument);
  EXPECT_THROW(head->aggregate({Matrix(0, 32), 0, 0, {}}), std::invalid_argument);
  EXPECT_THROW(head->aggregate(random_features(10, 31, 17)), std::invalid_argument);
}

TEST(Ria, OptionsAreValidatedByName) {
  const auto message = [](auto change) {
    RiaOptions options;
    change(options);
    try {
      options.validate();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([](auto& o) { o.d = 0; }).find("d is 0"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.tau = -1; }).find("tau is -1"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.eps = NAN; }).find("eps is nan"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.iterations = 0; }).find("iterations is 0"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.alpha = 1.5; }).find("alpha is 1.5"), std::string::npos);
  EXPECT_EQ(message([](auto&) {}), "");
}

TEST(Projection, RandomIsOrthonormalAndRepeatable) {
  const Matrix p = random_orthogonal(200, 64, 42);
  EXPECT_TRUE((as_eigen(p).transpose() * as_eigen(p)).isIdentity(1e-5f));
  EXPECT_EQ(p, random_orthogonal(200, 64, 42));
  EXPECT_NE(p, random_orthogonal(200, 64, 43));
  EXPECT_THROW(random_orthogonal(10, 11, 0), std::invalid_argument);
}

TEST(Projection, PcaFindsThePlaneTheDataLieIn) {
  const EigenMatrixD plane = as_eigen(random_orthogonal(20, 2, 1)).cast<double>();
  EigenMatrixD coordinates = random_matrix(500, 2, 18);
  coordinates.col(0) *= 5;
  const EigenMatrix rows =
      ((coordinates * plane.transpose()).rowwise() + Eigen::RowVectorXd::Constant(20, 3.0))
          .cast<float>();
  const EigenMatrix p = as_eigen(fit_pca(to_matrix(rows), 2));
  EXPECT_NEAR(std::abs(p.col(0).dot(plane.col(0).cast<float>())), 1, 1e-2f);
  EXPECT_TRUE((p * p.transpose()).isApprox((plane * plane.transpose()).cast<float>(), 1e-3f));
  PcaFitter streamed(20);
  streamed.add(to_matrix(rows.topRows(123)), false);
  streamed.add(to_matrix(rows.bottomRows(377)), false);
  EXPECT_EQ(streamed.rows(), 500);
  EXPECT_TRUE(as_eigen(streamed.fit(2)).isApprox(p, 1e-5f));
}

TEST(Gem, OneIsTheMeanAndLargeIsTheMaximum) {
  const EigenMatrix rows = random_matrix(30, 6, 19).cast<float>().cwiseAbs();
  const Matrix x = to_matrix(rows);
  GemOptions options;
  options.normalize_patches = false;
  options.p = 1;
  EXPECT_TRUE(as_eigen(gem_pool(x, options)).isApprox(rows.colwise().mean().transpose(), 1e-5f));
  options.p = 200;
  EXPECT_TRUE(
      as_eigen(gem_pool(x, options)).isApprox(rows.colwise().maxCoeff().transpose(), 0.03f));
  options.sign = GemSign::kPreserve;
  options.p = 2;
  EXPECT_THROW(gem_pool(x, options), std::invalid_argument);
}

TEST(Gem, PreservedSignsFlipWithTheInput) {
  const Matrix x = to_matrix(random_matrix(30, 6, 20).cast<float>());
  GemOptions options;
  options.sign = GemSign::kPreserve;
  const Vector pooled = gem_pool(x, options), flipped = gem_pool(to_matrix(-as_eigen(x)), options);
  EXPECT_TRUE(as_eigen(flipped).isApprox(-as_eigen(pooled), 1e-6f));
}

}  // namespace
}  // namespace ria
