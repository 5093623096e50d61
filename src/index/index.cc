// SPDX-License-Identifier: MIT
// An index file is a safetensors container: metadata say what made it, "descriptors" holds the
// vectors, "names" the places as a JSON list, "projection" a fitted matrix where there is one.
#include "ria/index.h"

#include <faiss/IndexFlat.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "util/json.h"
#include "weights/safetensors.h"

namespace ria {

namespace {

constexpr char kFormat[] = "ria-index-1";

Tensor matrix_tensor(const float* values, std::int64_t rows, std::int64_t columns) {
  return make_tensor({rows, columns}, std::vector<float>(values, values + rows * columns));
}

Tensor text_tensor(const std::string& text) {
  return make_tensor(
      DType::U8, {static_cast<std::int64_t>(text.size())}, {text.begin(), text.end()});
}

Matrix tensor_matrix(const TensorFile& file, const std::string& name) {
  const Tensor& tensor = file.at(name);
  if (tensor.dtype != DType::F32 || tensor.shape.size() != 2) {
    throw std::runtime_error(
        fmt::format("{}: {} is not a float matrix", file.path().string(), name));
  }
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Matrix>(values.data(), tensor.shape[0], tensor.shape[1]);
}

std::vector<std::string> read_names(const TensorFile& file) {
  const Tensor& tensor = file.at("names");
  try {
    return nlohmann::json::parse(tensor.bytes.begin(), tensor.bytes.end())
        .get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(file.path().string() + ": the list of place names is damaged");
  }
}

IndexHeader read_header(const TensorFile& file) {
  const Metadata& metadata = file.metadata();
  const auto field = [&](const char* key) {
    const auto it = metadata.find(key);
    if (it == metadata.end()) {
      throw std::runtime_error(
          fmt::format("{} is no index of places: '{}' is missing", file.path().string(), key));
    }
    return it->second;
  };
  if (field("format") != kFormat) {
    throw std::runtime_error(fmt::format(
        "{} has format {}, this version reads {}", file.path().string(), field("format"), kFormat));
  }
  return {field("method"), field("options"), field("weights_sha256"), field("ria_version"), 0};
}

void check_finite(const Matrix& m) {
  if (!m.allFinite()) throw std::invalid_argument("a descriptor holds NaN or infinity");
}

}  // namespace

struct Index::Impl {
  IndexHeader header;
  std::vector<std::string> names;
  Matrix projection;
  faiss::IndexFlatIP flat;

  explicit Impl(IndexHeader h) : header(std::move(h)), flat(header.dim) {}

  void check_width(const Matrix& m) const {
    if (m.cols() != header.dim) {
      throw std::invalid_argument(
          fmt::format("descriptor has {} dims, the index holds {}", m.cols(), header.dim));
    }
  }
};

Index::Index(IndexHeader header) {
  if (header.dim < 1)
    throw std::invalid_argument(
        fmt::format("index dim is {}, at least 1 was expected", header.dim));
  impl_ = std::make_unique<Impl>(std::move(header));
}
Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

const IndexHeader& Index::header() const { return impl_->header; }
int Index::size() const { return static_cast<int>(impl_->names.size()); }
const std::vector<std::string>& Index::names() const { return impl_->names; }
const Matrix& Index::projection() const { return impl_->projection; }
void Index::set_projection(Matrix projection) { impl_->projection = std::move(projection); }

void Index::add(const Matrix& descriptors, const std::vector<std::string>& names) {
  if (descriptors.rows() != static_cast<Eigen::Index>(names.size())) {
    throw std::invalid_argument(
        fmt::format("{} descriptors, {} names", descriptors.rows(), names.size()));
  }
  if (descriptors.rows() == 0) return;
  impl_->check_width(descriptors);
  check_finite(descriptors);
  impl_->flat.add(descriptors.rows(), descriptors.data());
  impl_->names.insert(impl_->names.end(), names.begin(), names.end());
}

std::vector<std::vector<Match>> Index::search(const Matrix& queries, int k) const {
  if (k < 1) throw std::invalid_argument(fmt::format("k is {}, at least 1 was expected", k));
  std::vector<std::vector<Match>> matches(static_cast<std::size_t>(queries.rows()));
  const int found = std::min(k, size());
  if (queries.rows() == 0 || found == 0) return matches;
  impl_->check_width(queries);
  check_finite(queries);
  std::vector<float> scores(matches.size() * found);
  std::vector<faiss::Index::idx_t> places(scores.size());
  impl_->flat.search(queries.rows(), queries.data(), found, scores.data(), places.data());
  for (std::size_t i = 0; i < places.size(); ++i) {
    matches[i / found].push_back({static_cast<int>(places[i]), scores[i]});
  }
  return matches;
}

std::vector<Match> Index::search(const Descriptor& query, int k) const {
  return search(Matrix(query.transpose()), k).front();
}

void Index::save(const std::filesystem::path& file) const {
  TensorMap tensors{{"descriptors", matrix_tensor(impl_->flat.get_xb(), size(), header().dim)},
                    {"names", text_tensor(json_text(nlohmann::json(names())))}};
  if (projection().size() > 0) {
    tensors["projection"] =
        matrix_tensor(projection().data(), projection().rows(), projection().cols());
  }
  write_safetensors(file,
                    tensors,
                    {{"format", kFormat},
                     {"method", header().method},
                     {"options", header().options},
                     {"weights_sha256", header().weights_sha256},
                     {"ria_version", header().ria_version}});
}

Index Index::load(const std::filesystem::path& path) {
  const TensorFile file = TensorFile::open(path);
  IndexHeader header = read_header(file);
  const Matrix descriptors = tensor_matrix(file, "descriptors");
  header.dim = static_cast<int>(descriptors.cols());
  const std::vector<std::string> names = read_names(file);
  if (static_cast<Eigen::Index>(names.size()) != descriptors.rows() || header.dim < 1) {
    throw std::runtime_error(fmt::format("{} is damaged: {} descriptors of {} dims, {} names",
                                         path.string(),
                                         descriptors.rows(),
                                         header.dim,
                                         names.size()));
  }
  Index index(std::move(header));
  if (file.contains("projection")) index.set_projection(tensor_matrix(file, "projection"));
  index.add(descriptors, names);
  return index;
}

}  // namespace ria
