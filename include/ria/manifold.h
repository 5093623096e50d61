// SPDX-License-Identifier: MIT
// Symmetric positive definite matrices: estimators, maps to a flat space, isometric vectorisation.
// Everything is in double: these are d x d matrices, and the saliency threshold decides on their
// last digits. Equation numbers are the paper's, section "Methodology" counted from (1).
#pragma once

#include <string>

#include "ria/api.h"
#include "ria/features.h"

namespace ria {

/// How the covariance of the projected patches is estimated.
enum class Estimator {
  kSample,      ///< 1/(N-1), equation (2)
  kRecov,       ///< sample, then hard-thresholded off-diagonals, equation (3)
  kLedoitWolf,  ///< 1/N, shrunk towards the scaled identity (Ledoit and Wolf 2004)
  kOas,         ///< 1/N, oracle approximating shrinkage (Chen et al. 2010)
};

/// Mean (1/N) and sample covariance (1/(N-1)); one patch has covariance zero.
struct Moments {
  VectorD mean;
  MatrixD covariance;
};
RIA_API Moments sample_moments(const Matrix& x);

/// A shrunk covariance and the weight of the identity in it, 0..1.
struct Shrunk {
  MatrixD covariance;
  double shrinkage = 0;
};
RIA_API Shrunk ledoit_wolf(const Matrix& x);
RIA_API Shrunk oas(const Matrix& x);

/// Zeroes the off-diagonal entries with |c| <= tau, equation (3).
RIA_API MatrixD recov(const MatrixD& covariance, double tau);

/// The iterates after K steps from C / ||C||_F: y -> A0^(1/2), z -> A0^(-1/2); m = y sqrt(||C||_F).
struct NewtonSchulz {
  MatrixD y, z, m;
};
RIA_API NewtonSchulz newton_schulz(const MatrixD& c, int iterations);

/// newton_schulz(c, iterations).m without the work only z needs. Symmetric input assumed.
RIA_API MatrixD newton_schulz_sqrt(const MatrixD& c, int iterations);

/// Exact C^alpha by eigendecomposition, eigenvalues below zero clamped to zero.
RIA_API MatrixD matrix_power(const MatrixD& c, double alpha);

/// Exact natural logarithm. Throws std::invalid_argument unless c is positive definite.
RIA_API MatrixD matrix_log(const MatrixD& c);

/// m - tr(m)/d I: what is left of a matrix logarithm when the scale of C is taken out.
RIA_API MatrixD remove_trace(const MatrixD& m);

/// ||a^alpha - b^alpha||_F / alpha, the power-Euclidean distance.
RIA_API double power_distance(const MatrixD& a, const MatrixD& b, double alpha);

/// [diagonal, sqrt(2) * upper triangle row by row]: <vec a, vec b> = tr(a b). Not normalised.
RIA_API VectorD vectorize(const MatrixD& m);

/// ||m - C^(1/2)||_F / ||C^(1/2)||_F for m after K Newton-Schulz steps.
RIA_API double newton_schulz_error(const MatrixD& c, int iterations);

}  // namespace ria
