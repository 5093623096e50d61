// SPDX-License-Identifier: MIT
// Vocabularies on disk: ours and those of others.
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "ria/eigen.h"
#include "ria/vocabulary.h"
#include "ria/weights.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr char kCentres[] = "centers";

/// The file of that name, or the cached weight.
fs::path vocabulary_path(const std::string& file_or_name) {
  std::error_code ignored;
  const fs::path path(file_or_name);
  if (fs::exists(path, ignored)) return path;
  if (path.has_parent_path() || path.has_extension() || file_or_name.empty()) {
    throw std::runtime_error(
        fmt::format("cannot read vocabulary '{}': no such file", file_or_name));
  }
  try {
    return cached_weights(file_or_name);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format(
        "vocabulary {} is neither a file nor in the cache: {}", file_or_name, error.what()));
  }
}

/// The tensor that is named as centres are, or the only one of the file.
const Tensor& centres_of(const TensorFile& file) {
  for (const char* name : {kCentres, "c_centers", "tensor"}) {
    if (file.contains(name)) return file.at(name);
  }
  if (file.tensors().size() == 1) return file.tensors().begin()->second;
  throw std::runtime_error(fmt::format(
      "{}: a vocabulary, one matrix of centres, was expected, the file holds {} tensors",
      file.path().string(),
      file.tensors().size()));
}

}  // namespace

void save_vocabulary(const fs::path& file, const Vocabulary& vocabulary) {
  const Matrix& c = vocabulary.centres;
  const std::vector<float> values(c.values().begin(), c.values().end());
  write_safetensors(
      file, {{kCentres, make_tensor({c.rows(), c.cols()}, values)}}, vocabulary.origin);
}

Matrix read_vocabulary(const std::string& file_or_name, int expected_dim) {
  const TensorFile file = TensorFile::open(vocabulary_path(file_or_name));
  const Tensor& tensor = centres_of(file);
  const std::string name = file.path().string();
  if (tensor.shape.size() != 2 || tensor.shape[0] < 1 || tensor.shape[1] < 1 ||
      tensor.size() > std::numeric_limits<int>::max()) {
    throw std::runtime_error(fmt::format(
        "{}: a vocabulary of two axes, centres and their values, was expected, the tensor has {}",
        name,
        tensor.shape.size() == 2 ? fmt::format("{}x{}", tensor.shape[0], tensor.shape[1])
                                 : fmt::format("{} axes", tensor.shape.size())));
  }
  if (expected_dim > 0 && tensor.shape[1] != expected_dim) {
    throw std::runtime_error(fmt::format("{}: the centres have {} values, the features have {}",
                                         name,
                                         tensor.shape[1],
                                         expected_dim));
  }
  Matrix centres(
      static_cast<int>(tensor.shape[0]), static_cast<int>(tensor.shape[1]), tensor.floats());
  if (!as_eigen(centres).allFinite()) {
    throw std::runtime_error(fmt::format("{}: a centre holds NaN or infinity", name));
  }
  return centres;
}

}  // namespace ria
