// SPDX-License-Identifier: MIT
// All that a recogniser is.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/parts.h"
#include "ria/recognizer.h"

namespace ria {

struct RecognizerParts {
  /// Without a backbone, which make() needs.
  RecognizerParts(const Method& method, const MethodOptions& options);

  /// All but the backbone; `weights` as make_head() takes them.
  void make(const TensorFile* weights);
  /// Where the projection meets the features as they are, the network's last layer takes it in.
  void fold();
  void fit_projection(const std::vector<std::filesystem::path>& pictures, const RunOptions& run);
  void fit_vocabulary(const std::vector<std::filesystem::path>& pictures, const RunOptions& run);
  /// See Recognizer.
  std::string feature_key() const;

  const Method* method;
  MethodOptions options;
  std::shared_ptr<Backbone> backbone;
  std::string network_sha256;  ///< where the weight file says it apart from its own
  Preprocessing preprocessing;
  Fitted fitted;
  std::shared_ptr<Aggregator> aggregator;  ///< nullptr: still to be fitted
  Postprocessor postprocessor;
  std::shared_ptr<Reranker> reranker;
  bool folded = false;
};

}  // namespace ria
