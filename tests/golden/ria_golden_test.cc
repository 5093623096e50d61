// SPDX-License-Identifier: MIT
// The descriptor against the float64 transcription of the paper, for every tensor the case holds:
// the scenarios, options and values of K, alpha, tau and eps come from the names and from
// case.json. A tensor that is left out is not checked; one with an unknown name fails.
#include <regex>

#include "golden/golden_case.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"

namespace ria {
namespace {

using nlohmann::json;

MatrixD matrix(const TensorFile& file, const std::string& name) {
  const Tensor& tensor = file.at(name);
  const std::int64_t rows = tensor.shape.size() == 2 ? tensor.shape[0] : 1;
  return {static_cast<int>(rows), static_cast<int>(tensor.size() / rows), tensor.doubles()};
}

Matrix to_floats(const MatrixD& m) { return to_matrix(as_eigen(m).cast<float>()); }

/// NaN if any difference is.
double largest_difference(const EigenMatrixD& actual, const EigenMatrixD& expected) {
  return (actual - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

void expect_relative(const MatrixD& actual, const MatrixD& expected, double relative) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  EXPECT_LE(largest_difference(as_eigen(actual), as_eigen(expected)),
            relative * as_eigen(expected).cwiseAbs().maxCoeff());
}

/// One scenario at one patch normalisation: "<scenario>.pn1."
struct Variant {
  PatchFeatures features;
  Matrix projection;
  RiaOptions options;
  json config;
  std::string prefix;
};

class RiaGolden : public GoldenCaseTest {
 protected:
  RiaGolden() : GoldenCaseTest("ria") {}

  void SetUp() override {
    GoldenCaseTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_FALSE(golden().outputs().names().empty());
    const json& tolerance = golden().info().at("tolerance");
    std::tie(of_vectors_, of_matrices_) = stated(tolerance.at("double_implementation"));
    measured_ = tolerance.value("float32_measured", json::object());
    for (const auto& [key, deviation] : measured_.items()) {
      largest_measured_ = std::max(largest_measured_, deviation.get<double>());
    }
    if (measured_.empty()) largest_measured_ = 3e-7;  // what the fixtures' README gives for all
  }

  /// "1e-9 absolute on v, 1e-10 relative on matrices"
  static std::pair<double, double> stated(const std::string& text) {
    std::smatch match;
    if (!std::regex_search(text, match, std::regex("(\\S+) absolute on v, (\\S+) relative"))) {
      throw std::runtime_error("case.json: what does the tolerance '" + text + "' mean?");
    }
    return {std::stod(match[1]), std::stod(match[2])};
  }

  Variant variant(const std::string& scenario, const std::string& name) const {
    Variant v;
    v.config = config().at(scenario).at("variants").at(name);
    v.prefix = scenario + "." + name + ".";
    v.features.patches = to_floats(matrix(golden().inputs(), scenario + ".X_raw"));
    v.projection = to_floats(matrix(golden().inputs(), scenario + ".P"));
    v.options.normalize_patches = v.config.at("patch_l2");
    v.options.tau = v.config.at("tau");
    v.options.eps = v.config.at("eps");
    v.options.d = v.projection.cols();
    return v;
  }

  /// Calls check(variant, rest of the name) for every tensor; it returns how much it checked.
  template <typename Check>
  void for_each_output(Check check) {
    int checked = 0;
    const std::regex form("([^.]+)\\.([^.]+)\\.(.+)");
    for (const std::string& name : golden().outputs().names()) {
      std::smatch match;
      ASSERT_TRUE(std::regex_match(name, match, form)) << name;
      SCOPED_TRACE(name);
      checked += check(variant(match[1], match[2]), match[3].str());
    }
    if (checked == 0 && !HasFailure()) GTEST_SKIP() << "the case has no such tensor";
  }

  /// Ten times what a plain float32 run was measured to deviate.
  double float_tolerance(const std::string& name) const {
    return 10 * std::max(measured_.value(name, largest_measured_), 1e-8);
  }

  /// The intermediate matrices: the golden's own, or where it is left out, computed in double from
  /// what comes before it.
  MatrixD projected(const Variant& v) const {
    if (golden().outputs().contains(v.prefix + "X"))
      return matrix(golden().outputs(), v.prefix + "X");
    EigenMatrixD x = as_eigen(v.features.patches).cast<double>();
    if (v.options.normalize_patches) x.rowwise().normalize();
    return to_matrix(x * as_eigen(v.projection).cast<double>());
  }

  MatrixD raw_covariance(const Variant& v) const {
    if (golden().outputs().contains(v.prefix + "C_raw"))
      return matrix(golden().outputs(), v.prefix + "C_raw");
    const EigenMatrixD x = as_eigen(projected(v));
    const EigenMatrixD centred = x.rowwise() - x.colwise().mean();
    return to_matrix(centred.transpose() * centred / static_cast<double>(x.rows() - 1));
  }

  MatrixD rectified(const Variant& v) const {
    if (golden().outputs().contains(v.prefix + "C_rec"))
      return matrix(golden().outputs(), v.prefix + "C_rec");
    return recov(raw_covariance(v), v.options.tau);
  }

  MatrixD covariance(const Variant& v) const {
    if (golden().outputs().contains(v.prefix + "C"))
      return matrix(golden().outputs(), v.prefix + "C");
    return regularized(v);
  }

  MatrixD regularized(const Variant& v) const {
    MatrixD c = rectified(v);
    as_eigen(c).diagonal().array() += v.options.eps;
    return c;
  }

  void expect_descriptor(const Variant& v,
                         const RiaOptions& options,
                         std::span<const double> expected,
                         double tolerance) {
    const int dim = v.features.patches.cols();
    const Descriptor actual = make_ria(dim, options, v.projection)->aggregate(v.features);
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_LE(largest_difference(as_eigen(actual).cast<double>(), as_eigen(expected)), tolerance);
  }

  double of_vectors_ = 0, of_matrices_ = 0;  ///< tolerances of double
  json measured_;
  double largest_measured_ = 0;  ///< for the keys whose deviation was not measured
};

/// Options that a descriptor's name asks for: K3, exact, exact_alpha0.25, logeuclid, ledoitwolf.K3,
/// tau0_eps1e-4.exact ...
bool apply_name(std::string name, RiaOptions& options) {
  std::smatch match;
  if (std::regex_match(name, match, std::regex("tau([-0-9.e]+)_eps([-0-9.e]+)\\.(.+)"))) {
    options.tau = std::stod(match[1]);
    options.eps = std::stod(match[2]);
    name = match[3].str();
  }
  if (std::regex_match(name, match, std::regex("(ledoitwolf|oas)\\.(.+)"))) {
    options.estimator = match[1] == "oas" ? Estimator::kOas : Estimator::kLedoitWolf;
    name = match[2].str();
  }
  if (std::regex_match(name, match, std::regex("K(\\d+)"))) {
    options.iterations = std::stoi(match[1]);
    return true;
  }
  if (name == "logeuclid") {
    options.mapping = Mapping::kLogEuclidean;
    return true;
  }
  options.mapping = Mapping::kPower;
  if (std::regex_match(name, match, std::regex("exact_alpha([0-9.]+)")))
    options.alpha = std::stod(match[1]);
  return name == "exact" || !match.empty();
}

TEST_F(RiaGolden, EveryDescriptor) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    if (!rest.ends_with(".v") || rest.starts_with("grid")) return 0;
    RiaOptions options = v.options;
    EXPECT_TRUE(apply_name(rest.substr(0, rest.size() - 2), options)) << "unknown form";
    const std::string name = v.prefix + rest;
    expect_descriptor(v, options, golden().outputs().at(name).doubles(), float_tolerance(name));
    return 1;
  });
}

TEST_F(RiaGolden, TauEpsGrid) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    if (!rest.starts_with("grid")) return 0;
    std::smatch match;
    RiaOptions options = v.options;
    EXPECT_TRUE(std::regex_match(rest, match, std::regex("grid_(.+)\\.v")) &&
                apply_name(match[1], options))
        << "unknown form";
    const std::vector<double> values = golden().outputs().at(v.prefix + rest).doubles();
    const auto taus = v.config.at("grid").at("tau").get<std::vector<double>>();
    const auto epses = v.config.at("grid").at("eps").get<std::vector<double>>();
    const std::size_t dim = values.size() / taus.size() / epses.size();
    const double* cell = values.data();
    for (const double tau : taus) {
      for (const double eps : epses) {
        SCOPED_TRACE(::testing::Message() << "tau " << tau << " eps " << eps);
        options.tau = tau;
        options.eps = eps;
        expect_descriptor(v, options, {cell, dim}, float_tolerance(v.prefix + rest));
        cell += dim;
      }
    }
    return 1;
  });
}

/// The matrix functions are double: given the golden's own matrices they must agree as doubles do.
TEST_F(RiaGolden, EveryMatrix) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    const MatrixD expected = matrix(golden().outputs(), v.prefix + rest);
    std::smatch match;
    if (std::regex_match(rest, match, std::regex("K(\\d+)\\.([MYZ])"))) {
      const int iterations = std::stoi(match[1]);
      const NewtonSchulz ns = newton_schulz(covariance(v), iterations);
      expect_relative(match[2] == "M"   ? ns.m
                      : match[2] == "Y" ? ns.y
                                        : ns.z,
                      expected,
                      of_matrices_);
      if (match[2] == "M")
        expect_relative(newton_schulz_sqrt(covariance(v), iterations), expected, of_matrices_);
    } else if (rest == "C") {
      expect_relative(ria_covariance(v.features, v.options, v.projection), expected, 1e-6);
      expect_relative(regularized(v), expected, 1e-12);
    } else if (rest == "C_rec") {
      expect_relative(recov(raw_covariance(v), v.options.tau), expected, 1e-12);
    } else if (rest == "X" || rest == "C_raw" || rest == "mean") {
      EigenMatrix x = as_eigen(v.features.patches);
      if (v.options.normalize_patches) x.rowwise().normalize();
      x = EigenMatrix(x * as_eigen(v.projection));
      const Moments moments = sample_moments(to_matrix(x));
      if (rest == "X") {
        expect_relative(to_matrix(x.cast<double>()), expected, 1e-5);
      } else if (rest == "mean") {
        expect_relative(MatrixD(1, x.cols(), moments.mean), expected, 1e-5);
      } else {
        expect_relative(moments.covariance, expected, 1e-6);
      }
    } else if (rest == "fro") {
      EXPECT_NEAR(as_eigen(covariance(v)).norm(), expected(0, 0), 1e-12 * expected(0, 0));
    } else if (rest == "A0") {
      expect_relative(to_matrix(as_eigen(covariance(v)).normalized()), expected, 1e-12);
    } else if (std::regex_match(rest, match, std::regex("exact_(sqrt|alpha([0-9.]+))\\.M"))) {
      const double alpha = match[1] == "sqrt" ? 0.5 : std::stod(match[2]);
      expect_relative(matrix_power(covariance(v), alpha), expected, of_matrices_);
    } else if (rest == "logeuclid.M") {
      expect_relative(matrix_log(covariance(v)), expected, of_matrices_);
    } else if (std::regex_match(
                   rest, match, std::regex("(ledoitwolf|oas)\\.(C_shrunk|shrinkage)"))) {
      const Matrix x = to_floats(projected(v));
      const Shrunk shrunk = match[1] == "oas" ? oas(x) : ledoit_wolf(x);
      if (match[2] == "shrinkage") {
        EXPECT_NEAR(shrunk.shrinkage, expected(0, 0), 1e-5);
      } else {
        expect_relative(shrunk.covariance, expected, 1e-6);
      }
    } else {
      EXPECT_TRUE(rest.ends_with(".v")) << "no check knows this tensor";
      return 0;
    }
    return 1;
  });
}

/// Both readings of the paper's table: the error of M, and that of Y_K taken literally.
TEST_F(RiaGolden, NewtonSchulzErrorTable) {
  int checked = 0;
  for (const auto& [scenario, config] : config().items()) {
    for (const auto& [name, settings] : config.at("variants").items()) {
      const json table = settings.value("ns_error", json::object());
      if (table.empty()) continue;
      const MatrixD c = covariance(variant(scenario, name));
      const EigenMatrixD root = as_eigen(matrix_power(c, 0.5));
      for (const auto& [k, error] : table.items()) {
        SCOPED_TRACE(scenario + " " + name + " K = " + k);
        const double of_m = error.at("rel_fro_M_vs_sqrtC");
        EXPECT_NEAR(newton_schulz_error(c, std::stoi(k)), of_m, 1e-8 * of_m + 1e-12);
        const double of_y = error.at("literal_YK_vs_sqrtC");
        const EigenMatrixD y = as_eigen(newton_schulz(c, std::stoi(k)).y);
        EXPECT_NEAR((y - root).norm() / root.norm(), of_y, 1e-8 * of_y + 1e-12);
        ++checked;
      }
    }
  }
  if (checked == 0) GTEST_SKIP() << "the case has no such table";
}

TEST_F(RiaGolden, VectorisationOrder) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    if (!rest.ends_with(".M")) return 0;
    const std::string name = v.prefix + rest.substr(0, rest.size() - 1) + "v";
    if (!golden().outputs().contains(name)) return 0;
    const EigenVectorD vector = as_eigen(vectorize(matrix(golden().outputs(), v.prefix + rest)));
    const EigenVectorD expected = as_eigen(golden().outputs().at(name).doubles());
    EXPECT_LE(largest_difference(vector.normalized(), expected), of_vectors_);
    return 1;
  });
}

}  // namespace
}  // namespace ria
