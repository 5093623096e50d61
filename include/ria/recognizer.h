// SPDX-License-Identifier: MIT
// The whole chain: picture -> pixels -> patch features -> descriptor -> places.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "ria/api.h"
#include "ria/backbone.h"
#include "ria/map.h"
#include "ria/method.h"

namespace ria {

struct RecognizerParts;

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
  double local = 0;  ///< what a re-ranker keeps
  double wall = 0;
};

/// All that is kept of a picture.
struct DescribedPicture {
  Descriptor descriptor;
  PackedLocalFeatures local;  ///< for a re-ranker; empty: the method has none
};

/// The descriptors of many pictures. Row i belongs to picture i; a failed picture's row is zero.
struct RIA_API Descriptions {
  Matrix descriptors;
  std::vector<std::string> names;
  std::vector<std::array<int, 2>> image_sizes;  ///< height, width as loaded
  std::vector<PackedLocalFeatures> locals;      ///< for a re-ranker; empty: the method has none
  std::vector<Failure> failures;
  StageSeconds seconds;

  /// The rows and names without the failed ones.
  Descriptions without_failures() const;
};

/// Told after every picture: how many are done, of how many.
using ProgressCallback = std::function<void(int done, int total)>;

/// How many pictures are described: on which threads, who is told, what is kept.
struct RunOptions {
  int num_threads = 0;        ///< 0: all cores
  ProgressCallback progress;  ///< called from one thread at a time
  std::stop_token stop;       ///< asked before each picture
  bool resume = true;         ///< keep what is done in the cache folder until the run ends
  /// No cross-image encoder sees pictures from before and from behind this place together, as the
  /// database and the queries of an evaluation; 0: there is none.
  int split = 0;
  std::filesystem::path names_relative_to;  ///< folder the pictures' names leave out
  /// Folder that patch features are kept in and taken from, by the picture's content and the
  /// network; in half precision, so that descriptors may differ in the fourth digit. Empty: none.
  std::filesystem::path feature_cache;
};

/// Thrown when RunOptions::stop was requested; what was finished is kept for the next run.
struct RIA_API Interrupted : std::runtime_error {
  /// So many of them were done.
  Interrupted(int done, int total, const char* of = "pictures");
  ~Interrupted() override;
  int done;
  int total;
};

/// Reranker::score() of the pictures that were compared, one entry a query: place -> score.
using PairScores = std::vector<std::unordered_map<int, double>>;

/// One method, ready to use. describe() may be called from many threads.
class RIA_API Recognizer {
 public:
  /// `method` is a name, or a name with options: see choose_method().
  explicit Recognizer(const std::string& method, const MethodOptions& options = {});
  /// The method a map was made with. Throws std::runtime_error if the weights are not the same, or
  /// another version of ria made it.
  explicit Recognizer(const Map& map, const BackboneOptions& backbone = {});
  ~Recognizer();
  Recognizer(Recognizer&&) noexcept;
  Recognizer& operator=(Recognizer&&) noexcept;

  /// The row of the table.
  const Method& method() const;
  /// With everything that the caller left to the method.
  const MethodOptions& options() const;
  const Backbone& backbone() const;
  const Preprocessing& preprocessing() const;
  /// Everything beside the picture that decides the features, in one line; empty where a projection
  /// is part of the network.
  std::string feature_key() const;
  /// What was fitted or read and a map keeps: projection, vocabulary, mean, directions.
  const std::map<std::string, Matrix>& fitted() const;
  /// Throws std::invalid_argument if it is still to be fitted.
  const Aggregator& aggregator() const;
  /// Applied to what the aggregator makes; empty until fitted.
  const Postprocessor& postprocessor() const;
  /// nullptr: answers stay in the order of the search.
  const Reranker* reranker() const;
  /// Length of the descriptors describe() makes now.
  int dim() const;
  /// What a map of this recogniser's descriptors records.
  MapHeader header() const;

  /// The descriptor of a picture. One of many is skipped where it cannot be read, and named in
  /// Descriptions::failures.
  Descriptor describe(const ImageView& picture) const;
  Descriptor describe(const std::filesystem::path& picture) const;
  /// The descriptor and what the re-ranker keeps, of one extraction.
  DescribedPicture describe_whole(const ImageView& picture) const;
  Descriptions describe(const std::vector<std::filesystem::path>& pictures,
                        const RunOptions& run = {}) const;

  /// Fits what must be known before the first picture is described and is not yet: a projection
  /// ("pca"), a vocabulary; center and pca where options().fit_folder names other pictures.
  void fit(const std::vector<std::filesystem::path>& pictures, const RunOptions& run = {});
  /// Fits center and pca on the first `database` of the described pictures if that is still to be
  /// done, and then applies them to all.
  void finish(Descriptions& described, int database);

  /// The map of described pictures, in memory, those that failed left out.
  Map map(const Descriptions& described) const;
  /// Adds them to a map of the same kind, durably; returns how many. What their names say of the
  /// places is kept, see place_named().
  int add(const Descriptions& described, Map& map) const;
  /// fit(), describe(), finish() and map() in one.
  Map map(const std::vector<std::filesystem::path>& pictures, const RunOptions& run = {});

  /// The k best places for each described picture, re-ranked where the method is. `compared` gets
  /// the scores of re-ranking beside those it has.
  std::vector<std::vector<Match>> search(const Map& map,
                                         const Descriptions& queries,
                                         int k,
                                         const RunOptions& run = {},
                                         PairScores* compared = nullptr) const;
  /// Everything beside the picture that decides what a re-ranker keeps of it; empty: no re-ranker.
  std::string local_key() const;

 private:
  friend class RecognizerMaker;
  explicit Recognizer(std::unique_ptr<RecognizerParts> parts);
  std::unique_ptr<RecognizerParts> parts_;
};

/// Recognisers of several methods, each a name or a name with options; those of one backbone share
/// it.
RIA_API std::vector<std::unique_ptr<Recognizer>> make_recognizers(
    const std::vector<std::string>& methods, const MethodOptions& options = {});

/// fit() of each; a vocabulary that several need is fitted once.
RIA_API void fit_together(const std::vector<std::unique_ptr<Recognizer>>& recognizers,
                          const std::vector<std::filesystem::path>& pictures,
                          const RunOptions& run = {});

/// Describes every picture with every recogniser; features are computed once for those that share a
/// backbone object and read pictures alike. One result a recogniser.
RIA_API std::vector<Descriptions> describe_together(
    const std::vector<const Recognizer*>& recognizers,
    const std::vector<std::filesystem::path>& pictures,
    const RunOptions& run = {});

}  // namespace ria
