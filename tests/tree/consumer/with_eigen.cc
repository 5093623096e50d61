// SPDX-License-Identifier: MIT
// A user of the library whose own Eigen is compiled as he likes. Rounding may differ with that:
// what is printed is rounded.
#include <Eigen/Dense>
#include <cstdio>

#include "ria/eigen.h"
#include "ria/ria.h"

int main() {
  const ria::Recognizer recognizer("rootsift-gem");
  const ria::Image picture = ria::render_street({}, ria::Condition::kDay, 96, 128, 1);
  const ria::Descriptor descriptor = recognizer.describe(picture);
  const Eigen::VectorXf copy = ria::as_eigen(descriptor);
  std::printf("length %.4f, copied %.4f\n", ria::as_eigen(descriptor).norm(), copy.norm());

  const ria::EigenMatrix rows = ria::EigenMatrix::Constant(9, descriptor.size(), 0.5f);
  ria::PatchFeatures features{ria::to_matrix(rows), 3, 3, {}};
  ria::as_eigen(features.patches).row(4) = copy.transpose();
  const ria::Vector pooled = recognizer.aggregator().aggregate(features);
  std::printf("pooled %.4f\n", ria::as_eigen(pooled).sum());

  ria::MatrixD covariance = ria::to_matrix(Eigen::MatrixXd::Identity(5, 5) * 4);
  ria::as_eigen(covariance)(1, 0) = ria::as_eigen(covariance)(0, 1) = 0.5;
  const Eigen::MatrixXd root = ria::as_eigen(ria::matrix_power(covariance, 0.5));
  std::printf("error of the root %.4f\n", (root * root - ria::as_eigen(covariance)).norm());
}
