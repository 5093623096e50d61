// SPDX-License-Identifier: MIT
#include "train/mlp_start.h"

#include <algorithm>
#include <stdexcept>

#include "nn/eigen_symmetric.h"
#include "nn/gemm.h"
#include "ria/eigen.h"

namespace ria {

namespace {

constexpr int kMostPictures = 1000;
constexpr int kTogether = 64;  // pictures at once: sums of so many rows are products of matrices

int values_of(const HeadShape& head) { return head.d * (head.d + 1) / 2; }

/// Whether the network's MLPs are still to be set: a RIA-FT file brings its own.
bool are_zero(const TrainNetwork& network) {
  return std::all_of(network.tensors.begin(), network.tensors.end(), [](const NamedTensor& tensor) {
    if (tensor.name.find(".mlp.0.weight") == std::string::npos) return true;
    return std::all_of(
        tensor.values.begin(), tensor.values.end(), [](float value) { return value == 0; });
  });
}

/// Of what each head hands on, from this worker's share of the pictures: sums of x x^T.
struct HeadMoments {
  std::vector<EigenMatrixD> heads;
  long long pictures = 0;
};

HeadMoments moments_of(TrainEngine& engine,
                       const TrainWorkers& workers,
                       const std::vector<HeadShape>& heads,
                       int pictures,
                       const std::function<TrainBatch(const std::vector<int>& pictures)>& batch,
                       const std::function<void(int, int)>& meet) {
  HeadMoments moments;
  int all_values = 0;
  for (const HeadShape& head : heads) {
    moments.heads.push_back(EigenMatrixD::Zero(values_of(head), values_of(head)));
    all_values += values_of(head);
  }
  const int used = std::min(pictures, kMostPictures);
  const int a_round = kTogether * workers.count;
  for (int first = 0; first < used; first += a_round) {
    std::vector<int> own;
    for (int i = 0; i < kTogether; ++i) {
      const int at = first + workers.rank * kTogether + i;
      if (at < used) own.push_back(static_cast<int>(std::int64_t{at} * pictures / used));
    }
    Matrix vectors(0, all_values);
    if (const TrainBatch pictures_read = batch(own); pictures_read.count > 0) {
      vectors = engine.head_vectors(pictures_read);
    }
    if (workers.count > 1) vectors = engine.gather(vectors);
    const EigenMatrixD x = as_eigen(vectors).cast<double>();
    int column = 0;
    for (EigenMatrixD& head : moments.heads) {
      head += gram(EigenMatrixD(x.middleCols(column, head.rows())));
      column += static_cast<int>(head.rows());
    }
    moments.pictures += vectors.rows();
    meet(std::min(first + a_round, used), used);
  }
  return moments;
}

}  // namespace

Matrix half_whitened(const EigenMatrixD& moments, int out) {
  const SymmetricEigen found = eigen_symmetric(moments, out);
  constexpr double kFloor = 1e-4;  // of the largest: smaller ones are not known
  const auto share = (found.values / found.values(0)).array().max(0) + kFloor;
  return to_matrix(
      (found.vectors * share.pow(-0.25).matrix().asDiagonal()).transpose().cast<float>());
}

void start_mlps(TrainEngine& engine,
                const TrainWorkers& workers,
                const TrainNetwork& network,
                std::uint32_t seed,
                int pictures,
                const std::function<TrainBatch(const std::vector<int>& pictures)>& batch,
                const std::function<void(int, int)>& meet) {
  const std::vector<HeadShape>& heads = network.shape.heads;
  const bool any =
      std::any_of(heads.begin(), heads.end(), [](const HeadShape& head) { return head.out > 0; });
  if (!any || !are_zero(network)) return;
  const HeadMoments moments = moments_of(engine, workers, heads, pictures, batch, meet);
  if (moments.pictures < 2) {
    throw std::runtime_error("fewer than two training pictures can be read: no MLP can begin");
  }
  std::vector<NamedTensor> tensors;
  for (int h = 0; h < static_cast<int>(heads.size()); ++h) {
    if (heads[h].out == 0) continue;
    Matrix linear(0, values_of(heads[h]));
    if (workers.rank == 0) linear = half_whitened(moments.heads[h], heads[h].out);
    // One worker's for all: another kind of CPU may round otherwise.
    if (workers.count > 1) linear = engine.gather(linear);
    for (NamedTensor& tensor : linear_mlp(h, heads[h], linear, seed + h)) {
      tensors.push_back(std::move(tensor));
    }
  }
  engine.set_tensors(tensors);
}

}  // namespace ria
