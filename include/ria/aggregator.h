// SPDX-License-Identifier: MIT
// From the patches of a picture to its one descriptor.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/features.h"
#include "ria/manifold.h"

namespace ria {

/// How C is mapped to the flat space before it is vectorised.
enum class Mapping {
  kNewtonSchulz,         ///< square root by K coupled iterations, equations (5)-(8)
  kPower,                ///< exact C^alpha
  kLogEuclidean,         ///< matrix logarithm
  kLogEuclideanCentred,  ///< matrix logarithm less its trace: no longer shifts with illumination
  kIdentity,             ///< C itself (Euclidean covariance)
};

/// Riemannian Invariant Aggregation. Flags and JSON keys carry the fields' names.
struct RIA_API RiaOptions {
  int d = 64;                         ///< projected dimension; descriptor has d(d+1)/2 values
  std::string projection = "random";  ///< random | none | pca | pca:FOLDER | FILE.npy (D x d)
  std::uint32_t seed = 42;            ///< of the random orthogonal projection
  bool normalize_patches = true;  ///< L2-normalise each patch first: the scale tau and eps assume
  Estimator estimator = Estimator::kRecov;
  double tau = 1e-5;  ///< saliency threshold of recov, equation (3)
  double eps = 1e-4;  ///< added to the diagonal, equation (4)
  Mapping mapping = Mapping::kNewtonSchulz;
  int iterations = 3;  ///< K of newton_schulz
  double alpha = 0.5;  ///< exponent of power, in (0, 1]

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// RIA beyond the paper (riax): as free of training, vocabulary and database as RIA, of the same
/// length, and better. A patch is read as the network's own next layer reads it
/// (Backbone::reading), with its neighbours to the right and below; four windows of a third of the
/// height, one below the other, have a covariance each, whose logarithm is taken and freed of its
/// trace.
struct RIA_API RiaxOptions {
  int d = 128;              ///< even; the descriptor has d(d+1)/2 values: 64: 2080, 256: 32896
  std::uint32_t seed = 42;  ///< of the random directions
  double shrinkage = 0.1;   ///< of the mean eigenvalue, added to the diagonal

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// What GeM does with negative activations.
enum class GemSign {
  kPreserve,  ///< sign(m) |m|^(1/p), m = mean x^p (AnyLoc; p an odd whole number)
  kClamp,     ///< mean max(x, eps)^p (CosPlace)
  kAbsolute,  ///< mean |x|^p
};

/// Generalised mean pooling.
struct RIA_API GemOptions {
  double p = 3;  ///< 1: mean; large: maximum
  /// Unset: clamp; in a method of a transformer, whose features have signs, preserve.
  std::optional<GemSign> sign;
  double gem_eps = 1e-6;          ///< floor of the clamped kind
  bool normalize_patches = true;  ///< L2-normalise each patch first

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Vector of locally aggregated descriptors (VLAD) over a vocabulary, as AnyLoc computes it: the
/// residuals of the patches to their centres. The descriptor has clusters x dim values.
struct RIA_API VladOptions {
  int clusters = 0;        ///< centres of a vocabulary that is fitted; 0: the method's own, else 32
  std::string vocabulary;  ///< file, name of a cached weight, or database: fitted on it; empty: the
                           ///< method's own, else database
  bool vlad_soft = false;  ///< softmax of the cosines instead of the nearest centre. As published,
                           ///< block k sums w_qk (x_q - c) over ALL centres c, not only c_k
  double soft_temperature = 1;    ///< the cosines are multiplied by it before the softmax
  bool intra_normalize = true;    ///< L2-normalise the residuals of each centre
  bool normalize_patches = true;  ///< L2-normalise each patch first

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// PatchFeatures -> Descriptor. Implementations hold no mutable state: one serves all threads.
class RIA_API Aggregator {
 public:
  virtual ~Aggregator();
  /// Length of the descriptor.
  virtual int dim() const = 0;
  /// Throws std::invalid_argument on features of another width, none, or with NaN or infinity.
  virtual Descriptor aggregate(const PatchFeatures& features) const = 0;
  /// The same for pictures that are seen together, one descriptor each. A head that compares
  /// pictures (SuperVLAD's and CricaVPR's cross-image encoders) gives others than one by one.
  virtual std::vector<Descriptor> aggregate_together(std::span<const PatchFeatures> pictures) const;
};

/// D x d matrix with orthonormal columns, Haar-distributed; the same seed gives the same bits. It
/// spans what scikit-learn's GaussianRandomProjection(n_components=d, random_state=seed) projects
/// on, so that an experiment in Python can use the same subspace.
RIA_API Matrix random_orthogonal(int rows, int columns, std::uint32_t seed);

/// The d directions of largest variance of the rows, as D x d orthonormal columns.
RIA_API Matrix fit_pca(const Matrix& rows, int d);

/// The same from streamed data: add() any number of matrices, then fit().
class RIA_API PcaFitter {
 public:
  explicit PcaFitter(int dim);  ///< length of a row
  ~PcaFitter();
  PcaFitter(PcaFitter&&) noexcept;
  PcaFitter& operator=(PcaFitter&&) noexcept;

  /// Counts the rows in; `normalize`: brought to length one first.
  void add(const Matrix& rows, bool normalize);
  Matrix fit(int d) const;  ///< as fit_pca() of all rows
  long long rows() const;   ///< how many were added

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The paper's head. `projection` (D x d) overrides options.projection; empty: made from the
/// options.
RIA_API std::unique_ptr<Aggregator> make_ria(int feature_dim,
                                             const RiaOptions& options,
                                             const Matrix& projection = {});

/// `reading` as Backbone::reading() gives it; empty: the features as they are. Of rootsift's scales
/// it takes the first, whose patches are a grid.
RIA_API std::unique_ptr<Aggregator> make_riax(int feature_dim,
                                              const RiaxOptions& options = {},
                                              const Matrix& reading = {});

/// The regularised covariance C of equation (4), before the mapping.
RIA_API MatrixD ria_covariance(const PatchFeatures& features,
                               const RiaOptions& options,
                               const Matrix& projection);

/// A linear layer behind pooling, as CosPlace has: y = W x + b.
struct LinearLayer {
  Matrix weight;  ///< out x in; empty: no layer
  Vector bias;    ///< out
};
RIA_API std::unique_ptr<Aggregator> make_gem(int feature_dim,
                                             const GemOptions& options,
                                             const LinearLayer& layer = {});

/// GeM without the final L2 normalisation: the pooled vector itself.
RIA_API Vector gem_pool(const Matrix& patches, const GemOptions& options);

/// The mean patch.
RIA_API std::unique_ptr<Aggregator> make_mean(int feature_dim, bool normalize_patches = true);

/// VLAD over these centres (K x D, as k-means leaves them: not at length one). A patch belongs to
/// the centre of the largest cosine; a centre without patches leaves its part of the descriptor
/// zero.
RIA_API std::unique_ptr<Aggregator> make_vlad(const Matrix& centres,
                                              const VladOptions& options = {});

}  // namespace ria
