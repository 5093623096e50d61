// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/parts.h"
#include "ria/recognizer.h"

namespace ria {

/// Makes recognisers in the ways that are not for everyone.
class RecognizerMaker {
 public:
  /// One that shares its backbone with those made before that need the same; finish() ends it.
  std::unique_ptr<Recognizer> share(const MethodChoice& choice);
  void finish(const std::vector<std::unique_ptr<Recognizer>>& made);

  /// One whose weights are not in a file.
  static std::unique_ptr<Recognizer> from_tensors(const MethodChoice& choice,
                                                  const TensorFile& weights,
                                                  Fitted fitted = {});

  /// Another of the same parts: they are held once, however many there are.
  static Recognizer another(const Recognizer& recognizer);

  /// Saves a recogniser that has no head yet from fitting the centres another was fitted.
  static void give_vocabulary(const Matrix& centres, Recognizer& recognizer);

 private:
  std::map<std::string, std::shared_ptr<Backbone>> backbones_;
};

}  // namespace ria
