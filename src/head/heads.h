// SPDX-License-Identifier: MIT
// Heads that are published with their weights. Each finds its tensors in the checkpoint, behind any
// prefix and beside the backbone's, takes every size from their shapes, and refuses a file that
// does not hold it by name: std::runtime_error.
#pragma once

#include <memory>

#include "ria/aggregator.h"
#include "tensor/tensor.h"

namespace ria {

/// CosPlace and EigenPlaces: L2, GeM with a learnt exponent, linear layer, L2.
std::unique_ptr<Aggregator> read_cosplace(const TensorFile& file);

/// NetVLAD: the official .mat (with or without whitening), pytorch-NetVlad, Patch-NetVLAD, SFRS and
/// the deep visual geo-localization benchmark. `whiten`: apply the file's whitening if it has one.
std::unique_ptr<Aggregator> read_netvlad(const TensorFile& file, bool whiten = true);

std::unique_ptr<Aggregator> read_mixvpr(const TensorFile& file);

/// Reads PatchFeatures::class_token beside the patches.
std::unique_ptr<Aggregator> read_salad(const TensorFile& file);

/// SALAD with a linear layer behind it.
std::unique_ptr<Aggregator> read_megaloc(const TensorFile& file);

/// Bag of Queries; heads of attention have 64 channels.
std::unique_ptr<Aggregator> read_boq(const TensorFile& file);

/// `ghosts`: clusters that are dropped, which no file says. With the cross-image encoder if the
/// file has one.
std::unique_ptr<Aggregator> read_supervlad(const TensorFile& file, int ghosts = 1);

/// Reads PatchFeatures::class_token beside the patches.
std::unique_ptr<Aggregator> read_cricavpr(const TensorFile& file);

/// Windows of Conv-AP, which no file says.
struct ConvApOptions {
  int rows = 2;
  int columns = 2;
};
std::unique_ptr<Aggregator> read_convap(const TensorFile& file, const ConvApOptions& options = {});

/// What AP-GeM does behind its linear layer.
struct ApGemOptions {
  bool whiten = true;
  double power = 0.25;  ///< of the variances; 0.5 would be the usual whitening
  int components = 0;   ///< that are kept; 0: all
};
std::unique_ptr<Aggregator> read_apgem(const TensorFile& file, const ApGemOptions& options = {});

/// Reads PatchFeatures::class_token beside the patches.
std::unique_ptr<Aggregator> read_edtformer(const TensorFile& file);

/// What a QAA says in a file beside its weights; the published ones are all alike.
struct QaaOptions {
  int feature_heads = 16;
  int score_heads = 16;
  bool out_norm = false;  ///< a norm over the clusters' scores
};
std::unique_ptr<Aggregator> read_qaa(const TensorFile& file, const QaaOptions& options = {});

/// The global descriptor of SelaVPR: L2, GeM with a learnt exponent, L2.
std::unique_ptr<Aggregator> read_selavpr(const TensorFile& file);

/// RIA-FT: several heads, each a learnt projection, RIA's covariance and root, and an MLP.
std::unique_ptr<Aggregator> read_ria_ft(const TensorFile& file);

}  // namespace ria
