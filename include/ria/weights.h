// SPDX-License-Identifier: MIT
// Published weight files and the cache they are imported into.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "ria/api.h"

namespace ria {

/// A weight the methods need: where it comes from, under which licence, what it hashes to.
struct WeightSource {
  std::string name;          ///< also the stem of the file in the cache
  std::string architecture;  ///< the network and what it was trained for
  std::string source;        ///< package or page it is published on
  std::string url;           ///< of the published file; empty: no program can fetch it
  std::string licence;
  std::uint64_t bytes = 0;       ///< of the published file; 0: not known
  std::string published_sha256;  ///< of the published file, or its first digits; empty: not known
  std::string sha256;            ///< of the imported file; empty: not pinned
  std::string how_to_add;        ///< one command
};
RIA_API const std::vector<WeightSource>& weight_sources();

/// ${XDG_CACHE_HOME:-~/.cache}/ria
RIA_API std::filesystem::path cache_folder();

/// One tensor as listed by weights_info().
struct TensorInfo {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

/// What a weight file holds.
struct WeightsInfo {
  std::filesystem::path file;
  std::string architecture;  ///< inferred from names and shapes
  std::string sha256;        ///< see file_sha256()
  std::uint64_t bytes = 0;   ///< of all files of the set
  std::map<std::string, std::string> metadata;
  std::vector<TensorInfo> tensors;
};

/// Reads any supported file (safetensors, torch archive, tfjs model.json).
RIA_API WeightsInfo weights_info(const std::filesystem::path& file);

/// The files a weight consists of: itself, or an index with the shards it names in their order, or
/// the files of a folder in the order of their names, or an ONNX model with the files that hold its
/// tensors.
RIA_API std::vector<std::filesystem::path> weights_files(const std::filesystem::path& path);

/// sha256 of a weight in lower-case hexadecimal. One of several files hashes to the sha256 of their
/// hexadecimal hashes, written one after the other in the order of weights_files(). An unchanged
/// file (size, time of change, inode) is not read again: its hash is kept in hashes.json in the
/// cache folder.
RIA_API std::string file_sha256(const std::filesystem::path& path);

/// Imports a supported file into the cache as NAME.safetensors with a NAME.json record; returns the
/// file. Throws std::runtime_error if the name is pinned and the content is not the pinned one.
RIA_API std::filesystem::path add_weights(const std::filesystem::path& file,
                                          const std::string& name);

/// The cached file of a name; throws std::runtime_error saying how to add it if it is missing.
RIA_API std::filesystem::path cached_weights(const std::string& name);

/// Names in the cache that weight_sources() does not know, sorted.
RIA_API std::vector<std::string> other_cached_weights();

/// Whether the cache has a weight.
struct WeightsState {
  std::filesystem::path file;  ///< where it is or would be
  bool present = false;        ///< there, and what its record says
  bool damaged = false;        ///< there, but not what its record says
  std::string explanation;     ///< one line: what to do if it is missing, what is wrong with it
};
RIA_API WeightsState weights_state(const std::string& name);

/// How a file is fetched.
struct RIA_API DownloadOptions {
  std::string url;             ///< instead of the one of weight_sources(); http or https
  std::string sha256;          ///< of the published file, or its first digits; empty: as published
  std::filesystem::path keep;  ///< where to put and leave the published file; empty: not kept
  /// Told of every piece: bytes there, of how many (0: the server does not say).
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  std::stop_token stop;      ///< what was fetched is kept for the next call
  int stall_seconds = 30;    ///< a connection that brings nothing for so long counts as broken
  int retries = 5;           ///< after a broken connection, in a row without a new byte
  double retry_seconds = 1;  ///< pause before the first of them; each next is twice as long
  int redirects = 10;        ///< at most so many

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Thrown when DownloadOptions::stop was requested; what was fetched is kept for the next call.
struct RIA_API DownloadInterrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
  ~DownloadInterrupted() override;
};

/// Downloads the published file of a name and imports it as add_weights() does; returns the
/// imported file. A download that broke off goes on where it stopped. Throws std::runtime_error if
/// the file cannot be fetched, is not the published one or holds no weights.
RIA_API std::filesystem::path get_weights(const std::string& name,
                                          const DownloadOptions& options = {});

/// A tensor with values no network can compute with.
struct NonFiniteTensor {
  std::string name;
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
};

/// What verify_weights() found.
struct WeightsCheck {
  std::filesystem::path file;
  std::string sha256;    ///< of the content as it is now
  std::string expected;  ///< pin, record or published hash (or its first digits); empty: none
  std::uint64_t tensors = 0;
  std::uint64_t values = 0;
  std::vector<NonFiniteTensor> non_finite;

  /// Whether the content is what was expected; good(): and has no value that is no number.
  bool hash_matches() const { return sha256.starts_with(expected); }
  bool good() const { return hash_matches() && non_finite.empty(); }
};

/// Reads all of a cached weight or of any weight file: hashes it without the kept hashes, compares
/// with what is known of `name` (empty: of the cached weight the file is, if it is one), and looks
/// at every value. Throws std::runtime_error if it cannot be read.
RIA_API WeightsCheck verify_weights(const std::filesystem::path& name_or_file,
                                    const std::string& name = {});

}  // namespace ria
