// SPDX-License-Identifier: MIT
// The centres VLAD compares patches with: fitted on pictures within a bound on memory, saved, and
// read from the files of others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/recognizer.h"

namespace ria {

/// How a vocabulary is fitted.
struct RIA_API VocabularyOptions {
  int clusters = 32;
  std::uint32_t seed = 42;  ///< of the patches that are drawn and of the first centres
  /// Bytes for all that is held: the patches, the sums of the clustering and what waits to be
  /// written. Not counted: the network's weights and memory, and the one picture each thread is
  /// describing, with its features.
  std::uint64_t max_memory = 2'000'000'000;
  int max_iterations = 100;  ///< of k-means
  double tolerance = 1e-4;   ///< k-means ends when the squared moves of all centres add up to this
  RunOptions run;
  std::string
      feature_key;  ///< Recognizer::feature_key(), to use run.feature_cache; empty: it is not
  /// Told after every iteration of k-means: how many there were, and the squared moves of the last.
  std::function<void(int iterations, double moved)> on_iteration;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// A fitted vocabulary and what it was fitted on.
struct Vocabulary {
  Matrix centres;                      ///< clusters x dim; a centre without patches is zero
  std::vector<std::int64_t> counts;    ///< patches of each centre
  int pictures = 0;                    ///< that were given
  int pictures_used = 0;               ///< that gave patches
  std::int64_t patches = 0;            ///< in the pictures used
  std::int64_t patches_used = 0;       ///< of these, drawn
  std::int64_t patches_a_picture = 0;  ///< drawn from a picture at most; 0: all of every picture
  int iterations = 0;
  bool converged = false;
  double mean_cosine = 0;  ///< of the patches to their centres: what k-means makes large
  std::vector<Failure> failures;
  /// How it was made: ria_version, backbone, weights_sha256, seed and so on; what is saved with the
  /// centres. A caller may add to it.
  std::map<std::string, std::string> origin;
};

/// Cosine k-means on the patches of the pictures, L2-normalised first if `normalize_patches`.
///
/// If all patches of all pictures fit into max_memory, all are used. Otherwise every picture gives
/// the same number, a smaller one all it has: the largest number with which the patches fit.
/// Which ones is drawn by the seed and the picture's place in the list alone. Should there be more
/// pictures than patches fit, evenly spread pictures give one patch each and the others are not
/// read. The result is the same bits for any number of threads, and for a run that was interrupted
/// and goes on from what it kept in the cache folder.
///
/// A picture that cannot be read is reported in `failures`. Throws Interrupted on a requested stop,
/// std::runtime_error if no picture can be read, std::invalid_argument for more clusters than
/// patches and for a max_memory too small to work with.
RIA_API Vocabulary build_vocabulary(const Backbone& backbone,
                                    const Preprocessing& preprocessing,
                                    bool normalize_patches,
                                    const std::vector<std::filesystem::path>& pictures,
                                    const VocabularyOptions& options = {});

/// A safetensors file with the tensor `centers` (clusters x dim, float32) and the origin as
/// metadata. It appears only when it is whole.
RIA_API void save_vocabulary(const std::filesystem::path& file, const Vocabulary& vocabulary);

/// The centres of a vocabulary (clusters x dim): of a file of save_vocabulary(), AnyLoc's
/// c_centers.pt, safetensors or .npy, or of a weight in the cache by its name. Throws
/// std::runtime_error naming the file if it holds no finite matrix, or one of another width than
/// `expected_dim` (0: any).
RIA_API Matrix read_vocabulary(const std::string& file_or_name, int expected_dim = 0);

}  // namespace ria
