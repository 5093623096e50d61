// SPDX-License-Identifier: MIT
// The descriptor against the float64 transcription of the paper, for every tensor the case holds:
// the scenarios, options and values of K, alpha, tau and eps come from the names and from
// case.json.
#include <gtest/gtest.h>

#include <regex>

#include "golden/golden.h"
#include "ria/aggregator.h"
#include "weights/tensor.h"

namespace ria {
namespace {

using nlohmann::json;

MatrixD matrix(const TensorFile& file, const std::string& name) {
  const Tensor& tensor = file.at(name);
  const std::vector<double> values = tensor.doubles();
  const auto rows = tensor.shape.size() == 2 ? tensor.shape[0] : 1;
  return Eigen::Map<const MatrixD>(
      values.data(), rows, static_cast<Eigen::Index>(values.size()) / rows);
}

VectorD unit(const VectorD& v) { return v / v.norm(); }

/// One scenario at one patch normalisation: "<scenario>.pn1."
struct Variant {
  PatchFeatures features;
  Matrix projection;
  RiaOptions options;
  json config;
  std::string prefix;
};

class RiaGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    RIA_NEEDS_GOLDEN("ria");
    info_ = load_case("ria");
    inputs_.emplace(TensorFile::open(golden_dir() / "ria" / "inputs.safetensors"));
    outputs_.emplace(TensorFile::open(golden_dir() / "ria" / "outputs.safetensors"));
    for (const auto& [key, deviation] : info_["tolerance"]["float32_measured"].items()) {
      largest_measured_ = std::max(largest_measured_, deviation.get<double>());
    }
  }

  Variant variant(const std::string& scenario, const std::string& name) const {
    Variant v;
    v.config = info_["config"][scenario]["variants"][name];
    v.prefix = scenario + "." + name + ".";
    v.features.patches = matrix(*inputs_, scenario + ".X_raw").cast<float>();
    v.projection = matrix(*inputs_, scenario + ".P").cast<float>();
    v.options.normalize_patches = v.config["patch_l2"];
    v.options.tau = v.config["tau"];
    v.options.eps = v.config["eps"];
    v.options.d = static_cast<int>(v.projection.cols());
    return v;
  }

  template <typename Check>
  void for_each_output(Check check) {
    int checked = 0;
    const std::regex form("([^.]+)\\.(pn[01])\\.(.+)");
    for (const std::string& name : outputs_->names()) {
      std::smatch match;
      ASSERT_TRUE(std::regex_match(name, match, form)) << name;
      SCOPED_TRACE(name);
      checked += check(variant(match[1], match[2]), match[3].str());
    }
    EXPECT_GT(checked, 0);
  }

  /// Ten times what a plain float32 run was measured to deviate.
  double float_tolerance(const std::string& name) const {
    const json& measured = info_["tolerance"]["float32_measured"];
    return 10 * std::max(measured.value(name, largest_measured_), 1e-8);
  }

  void expect_descriptor(const Variant& v,
                         const RiaOptions& options,
                         const VectorD& expected,
                         double tolerance) {
    const int dim = static_cast<int>(v.features.patches.cols());
    const Descriptor actual = make_ria(dim, options, v.projection)->aggregate(v.features);
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_LE((actual.cast<double>() - expected).cwiseAbs().maxCoeff(), tolerance);
  }

  json info_;
  std::optional<TensorFile> inputs_, outputs_;
  double largest_measured_ = 0;
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
    expect_descriptor(
        v, options, matrix(*outputs_, name).row(0).transpose(), float_tolerance(name));
    return 1;
  });
}

TEST_F(RiaGolden, TauEpsGrid) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    std::smatch match;
    if (!std::regex_match(rest, match, std::regex("grid_K(\\d+)\\.v"))) return 0;
    RiaOptions options = v.options;
    options.iterations = std::stoi(match[1]);
    const std::vector<double> values = outputs_->at(v.prefix + rest).doubles();
    const auto taus = v.config["grid"]["tau"].get<std::vector<double>>();
    const auto epses = v.config["grid"]["eps"].get<std::vector<double>>();
    const auto dim = static_cast<Eigen::Index>(values.size() / taus.size() / epses.size());
    const double* cell = values.data();
    for (const double tau : taus) {
      for (const double eps : epses) {
        SCOPED_TRACE(::testing::Message() << "tau " << tau << " eps " << eps);
        options.tau = tau;
        options.eps = eps;
        expect_descriptor(v, options, Eigen::Map<const VectorD>(cell, dim), float_tolerance(""));
        cell += dim;
      }
    }
    return 1;
  });
}

/// The matrix functions are double: given the golden's own matrices they must agree to 1e-10.
TEST_F(RiaGolden, EveryMatrix) {
  const auto close = [](const MatrixD& actual, const MatrixD& expected, double relative) {
    EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), relative * expected.cwiseAbs().maxCoeff());
  };
  for_each_output([&](const Variant& v, const std::string& rest) {
    const MatrixD expected = matrix(*outputs_, v.prefix + rest);
    const auto golden = [&](const char* name) { return matrix(*outputs_, v.prefix + name); };
    std::smatch match;
    if (std::regex_match(rest, match, std::regex("K(\\d+)\\.([MYZ])"))) {
      const NewtonSchulz ns = newton_schulz(golden("C"), std::stoi(match[1]));
      close(match[2] == "M" ? ns.m : match[2] == "Y" ? ns.y : ns.z, expected, 1e-10);
      if (match[2] == "M")
        close(newton_schulz_sqrt(golden("C"), std::stoi(match[1])), expected, 1e-10);
    } else if (rest == "C") {
      close(ria_covariance(v.features, v.options, v.projection), expected, 1e-6);
      if (outputs_->contains(v.prefix + "C_rec")) {
        MatrixD c = golden("C_rec");
        c.diagonal().array() += v.options.eps;
        close(c, expected, 1e-12);
      }
    } else if (rest == "C_rec") {
      close(recov(golden("C_raw"), v.options.tau), expected, 1e-12);
    } else if (rest == "C_raw" || rest == "mean") {
      const PatchFeatures& f = v.features;
      Matrix x = f.patches;
      if (v.options.normalize_patches) x.rowwise().normalize();
      const Moments moments = sample_moments(Matrix(x * v.projection));
      if (rest == "mean") {
        close(moments.mean.transpose(), expected, 1e-5);
      } else {
        close(moments.covariance, expected, 1e-6);
      }
    } else if (rest == "A0") {
      close(golden("C") / golden("C").norm(), expected, 1e-12);
    } else if (rest == "exact_sqrt.M") {
      close(matrix_power(golden("C"), 0.5), expected, 1e-10);
    } else if (rest == "logeuclid.M") {
      close(matrix_log(golden("C")), expected, 1e-9);
    } else if (std::regex_match(
                   rest, match, std::regex("(ledoitwolf|oas)\\.(C_shrunk|shrinkage)"))) {
      const Matrix x = golden("X").cast<float>();
      const Shrunk shrunk = match[1] == "oas" ? oas(x) : ledoit_wolf(x);
      if (match[2] == "shrinkage") {
        EXPECT_NEAR(shrunk.shrinkage, expected(0, 0), 1e-5);
      } else {
        close(shrunk.covariance, expected, 1e-6);
      }
    } else {
      const bool other_tests = rest.ends_with(".v") || rest == "X" || rest == "fro";
      EXPECT_TRUE(other_tests) << "no check knows this tensor";
      return 0;
    }
    return 1;
  });
}

TEST_F(RiaGolden, NewtonSchulzErrorTable) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    if (rest != "C") return 0;
    for (const auto& [k, error] : v.config["ns_error"].items()) {
      const double expected = error["rel_fro_M_vs_sqrtC"];
      EXPECT_NEAR(newton_schulz_error(matrix(*outputs_, v.prefix + "C"), std::stoi(k)),
                  expected,
                  1e-8 * expected + 1e-12)
          << "K = " << k;
    }
    return 1;
  });
}

TEST_F(RiaGolden, VectorisationOrder) {
  for_each_output([&](const Variant& v, const std::string& rest) {
    if (!rest.ends_with(".M")) return 0;
    const std::string name = v.prefix + rest.substr(0, rest.size() - 1) + "v";
    if (!outputs_->contains(name)) return 0;
    const VectorD actual = unit(vectorize(matrix(*outputs_, v.prefix + rest)));
    EXPECT_LE((actual - matrix(*outputs_, name).row(0).transpose()).cwiseAbs().maxCoeff(), 1e-9);
    return 1;
  });
}

}  // namespace
}  // namespace ria
