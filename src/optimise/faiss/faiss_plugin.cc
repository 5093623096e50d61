// SPDX-License-Identifier: MIT
// FAISS trains what places are coded by. (FAISS lives only here)
#include <faiss/Clustering.h>
#include <faiss/IndexFlat.h>
#include <faiss/VectorTransform.h>
#include <faiss/impl/ProductQuantizer.h>

#include <algorithm>

#include "optimise/trainer.h"
#include "util/plugin.h"

namespace {

void pca(const float* rows,
         int count,
         int dim,
         int reduced,
         float* mean,
         float* directions,
         float* variances) {
  faiss::PCAMatrix transform(dim, reduced);
  transform.max_points_per_d = count;  // all that came
  transform.train(count, rows);
  std::copy_n(transform.mean.begin(), dim, mean);
  std::copy_n(transform.A.begin(), static_cast<std::size_t>(dim) * reduced, directions);
  std::copy_n(transform.eigenvalues.begin(), reduced, variances);
}

void kmeans(const float* rows, int count, int dim, int centres, std::uint64_t seed, float* out) {
  faiss::ClusteringParameters parameters;
  parameters.niter = 10;
  parameters.seed = static_cast<int>(seed & 0x7fffffff);
  parameters.min_points_per_centroid = 1;
  faiss::Clustering clustering(dim, centres, parameters);
  faiss::IndexFlatL2 nearest(dim);
  clustering.train(count, rows, nearest);
  std::copy(clustering.centroids.begin(), clustering.centroids.end(), out);
}

void tables(const float* rows, int count, int dim, int parts, float* out) {
  faiss::ProductQuantizer quantizer(dim, parts, 4);
  quantizer.cp.min_points_per_centroid = 1;
  quantizer.train(count, rows);
  std::copy(quantizer.centroids.begin(), quantizer.centroids.end(), out);
}

const ria::FaissFunctions kFunctions{pca, kmeans, tables};

}  // namespace

RIA_PLUGIN(faiss, kFunctions)
