// SPDX-License-Identifier: MIT
// From a row of the table and its options to the parts of a recogniser.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ria/method.h"
#include "tensor/tensor.h"

namespace ria {

/// What was fitted or read, by name: see kProjection and the others.
using Fitted = std::map<std::string, Matrix>;

constexpr char kProjection[] = "projection";  ///< D x d, of ria
constexpr char kCentres[] = "centres";        ///< K x D, of vlad and netvlad
constexpr char kSharpness[] = "sharpness";    ///< 1 x 1, alpha of netvlad's soft assignment
constexpr char kMean[] = "mean";              ///< 1 x dim, of center and pca
constexpr char kDirections[] = "directions";  ///< dim x kept, of pca

/// Whether the options ask for a projection that is fitted on pictures.
bool wants_pca_projection(const MethodOptions& options);

/// The weight file of a method as the options and the cache say; empty where it has none of its own
/// and the backbone finds its. Throws std::runtime_error saying how to add it if it is missing.
std::string weights_file(const Method& method, const MethodOptions& options);

/// Options that the method's file itself states, where the caller left them open.
void adopt_settings(const Method& method, const TensorFile* weights, MethodOptions& options);

/// Reads what the options name a file for: a projection, a vocabulary. The options then say that it
/// was read instead of where from: the place is nobody else's.
Fitted read_fitted(const Method& method, int feature_dim, MethodOptions& options);

/// nullptr where something must be fitted first. `weights` is the method's file, needed where its
/// head is trained; `reading` the backbone's, which riax uses.
std::unique_ptr<Aggregator> make_head(const Method& method,
                                      const MethodOptions& options,
                                      int feature_dim,
                                      const Fitted& fitted,
                                      const TensorFile* weights,
                                      const Matrix& reading = {});

/// nullptr for rerank none.
std::unique_ptr<Reranker> make_reranker(const Method& method,
                                        const MethodOptions& options,
                                        int feature_dim,
                                        const TensorFile* weights);

Postprocessor make_postprocessor(const Fitted& fitted);

}  // namespace ria
