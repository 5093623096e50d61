// SPDX-License-Identifier: MIT
// The whole chain: picture -> pixels -> patch features -> descriptor -> places.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "ria/backbone.h"
#include "ria/index.h"
#include "ria/method.h"

namespace ria {

/// A picture that could not be described, and why.
struct Failure {
  int picture = -1;  ///< position in the list that was handed in
  std::string file;
  std::string reason;
};

/// Seconds a method took: its stages added up over all threads, and the clock of the whole run
/// (wall), which methods that are run together share.
struct StageSeconds {
  double decode = 0;  ///< read and preprocess
  double backbone = 0;
  double aggregate = 0;
  double wall = 0;
};

/// The descriptors of many pictures. Row i belongs to picture i; a failed picture's row is zero.
struct Descriptions {
  Matrix descriptors;
  std::vector<std::string> names;
  std::vector<std::array<int, 2>> image_sizes;  ///< height, width as stored in the file
  std::vector<Failure> failures;
  StageSeconds seconds;

  /// The rows and names without the failed ones.
  Descriptions without_failures() const;
};

/// Told after every picture: how many are done, of how many.
using ProgressCallback = std::function<void(int done, int total)>;

struct RunOptions {
  int num_threads = 0;        ///< 0: all cores
  ProgressCallback progress;  ///< called from one thread at a time
  std::stop_token stop;       ///< asked before each picture
  bool resume = true;         ///< keep what is done in the cache folder until the run ends
  std::filesystem::path names_relative_to;  ///< folder the pictures' names leave out
};

/// Thrown when RunOptions::stop was requested; what was finished is kept for the next run.
struct Interrupted : std::runtime_error {
  Interrupted(int done, int total);
  int done;
  int total;
};

/// One method, ready to use. describe() may be called from many threads.
class Recognizer {
 public:
  explicit Recognizer(const std::string& method, const MethodOptions& options = {});
  /// The method an index was made with. Throws std::runtime_error if the weights are not the same.
  explicit Recognizer(const Index& index, const BackboneOptions& backbone = {});

  const Method& method() const { return *method_; }
  const MethodOptions& options() const { return options_; }
  const Backbone& backbone() const { return *backbone_; }
  const Preprocessing& preprocessing() const { return preprocessing_; }
  /// The fitted or given projection matrix, or empty.
  const Matrix& projection() const { return projection_; }
  /// Throws std::invalid_argument if the projection is still to be fitted.
  const Aggregator& aggregator() const;
  int dim() const;
  /// What an index of this recogniser's descriptors records.
  IndexHeader header() const;

  Descriptor describe(const Image& image) const;
  Descriptor describe(const std::filesystem::path& picture) const;
  Descriptions describe(const std::vector<std::filesystem::path>& pictures,
                        const RunOptions& run = {}) const;

  /// Fits the projection if the options ask for one ("pca") and it is not fitted yet.
  void fit(const std::vector<std::filesystem::path>& pictures, const RunOptions& run = {});

  /// The index of described pictures, those that failed left out.
  Index index(const Descriptions& described) const;
  /// fit(), describe() and index() in one.
  Index index(const std::vector<std::filesystem::path>& pictures, const RunOptions& run = {});

 private:
  friend std::vector<std::unique_ptr<Recognizer>> make_recognizers(const std::vector<std::string>&,
                                                                   const MethodOptions&);
  Recognizer(const Method& method,
             const MethodOptions& options,
             std::shared_ptr<Backbone> backbone);
  void fold();

  const Method* method_;
  MethodOptions options_;
  std::shared_ptr<Backbone> backbone_;
  Preprocessing preprocessing_;
  Matrix projection_;  ///< fitted or read; empty where the aggregator makes its own
  std::shared_ptr<Aggregator> aggregator_;
};

/// Recognisers of several methods; those of one backbone share it.
std::vector<std::unique_ptr<Recognizer>> make_recognizers(const std::vector<std::string>& methods,
                                                          const MethodOptions& options = {});

/// Describes every picture with every recogniser; features are computed once for those that share a
/// backbone object. One result a recogniser.
std::vector<Descriptions> describe_together(const std::vector<const Recognizer*>& recognizers,
                                            const std::vector<std::filesystem::path>& pictures,
                                            const RunOptions& run = {});

}  // namespace ria
