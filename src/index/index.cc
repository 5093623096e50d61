// SPDX-License-Identifier: MIT
// An index file is a safetensors container: metadata say what made it, "descriptors" holds the
// vectors, "names" the places as a JSON list, "fitted.NAME" a fitted matrix, "local" what a
// re-ranker needs of the places, one behind the other, and "local_grids" the grids of each.
#include "ria/index.h"

#include <faiss/IndexFlat.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/eigen.h"
#include "tensor/safetensors.h"
#include "util/json.h"

namespace ria {

namespace {

constexpr char kFormat[] = "ria-index-2";
constexpr char kFitted[] = "fitted.";

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
  return {static_cast<int>(tensor.shape[0]), static_cast<int>(tensor.shape[1]), tensor.floats()};
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

/// Kept as rows of halves, or of the bytes that hold signs.
void put_locals(const std::vector<PackedLocalFeatures>& locals, TensorMap& tensors) {
  std::vector<std::uint8_t> bytes, grids;
  std::int64_t cells = 0;
  for (const PackedLocalFeatures& local : locals) {
    const std::int32_t grid[2] = {local.grid_height, local.grid_width};
    const auto* raw = reinterpret_cast<const std::uint8_t*>(grid);
    grids.insert(grids.end(), raw, raw + sizeof grid);
    bytes.insert(bytes.end(), local.bytes.begin(), local.bytes.end());
    cells += static_cast<std::int64_t>(grid[0]) * grid[1];
  }
  const std::int64_t dim = locals[0].dim,
                     row = std::ssize(bytes) / std::max<std::int64_t>(cells, 1);
  const bool signs = row * 8 == dim;
  tensors["local"] =
      make_tensor(signs ? DType::U8 : DType::F16, {cells, signs ? row : dim}, std::move(bytes));
  tensors["local_grids"] = make_tensor(DType::I32, {std::ssize(locals), 2}, std::move(grids));
}

std::vector<PackedLocalFeatures> read_locals(const TensorFile& file, std::size_t places) {
  if (!file.contains("local")) return {};
  const Tensor &kept = file.at("local"), &grids = file.at("local_grids");
  const auto damaged = [&] {
    return std::runtime_error(file.path().string() + " is damaged: its local features");
  };
  const bool signs = kept.dtype == DType::U8;
  if ((!signs && kept.dtype != DType::F16) || kept.shape.size() != 2 || grids.dtype != DType::I32 ||
      grids.size() != 2 * static_cast<std::int64_t>(places)) {
    throw damaged();
  }
  const std::int64_t columns = kept.shape[1], row_bytes = signs ? columns : 2 * columns;
  std::vector<PackedLocalFeatures> locals(places);
  std::int64_t row = 0;
  for (std::size_t i = 0; i < places; ++i) {
    std::int32_t grid[2];
    std::memcpy(grid, grids.bytes.data() + i * sizeof grid, sizeof grid);
    const std::int64_t rows = static_cast<std::int64_t>(grid[0]) * grid[1];
    if (grid[0] < 0 || grid[1] < 0 || rows > kept.shape[0] - row) throw damaged();
    const auto first = kept.bytes.begin() + row * row_bytes;
    locals[i] = {{first, first + rows * row_bytes},
                 static_cast<int>(signs ? 8 * columns : columns),
                 grid[0],
                 grid[1]};
    row += rows;
  }
  if (row != kept.shape[0]) throw damaged();
  return locals;
}

void check_finite(const Matrix& m) {
  if (!as_eigen(m).allFinite()) {
    throw std::invalid_argument("a descriptor holds NaN or infinity");
  }
}

}  // namespace

struct Index::Impl {
  IndexHeader header;
  std::vector<std::string> names;
  std::map<std::string, Matrix> fitted;
  std::vector<PackedLocalFeatures> locals;
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
const std::map<std::string, Matrix>& Index::fitted() const { return impl_->fitted; }
void Index::set_fitted(std::map<std::string, Matrix> fitted) { impl_->fitted = std::move(fitted); }
const std::vector<PackedLocalFeatures>& Index::locals() const { return impl_->locals; }

void Index::add(const Matrix& descriptors,
                const std::vector<std::string>& names,
                std::vector<PackedLocalFeatures> locals) {
  if (descriptors.rows() != std::ssize(names)) {
    throw std::invalid_argument(
        fmt::format("{} descriptors, {} names", descriptors.rows(), names.size()));
  }
  const bool keeps = !impl_->locals.empty() || (size() == 0 && !locals.empty());
  if (locals.size() != (keeps ? names.size() : 0)) {
    throw std::invalid_argument(
        fmt::format("{} local features, {} places", locals.size(), names.size()));
  }
  if (descriptors.rows() == 0) return;
  impl_->check_width(descriptors);
  check_finite(descriptors);
  impl_->flat.add(descriptors.rows(), descriptors.data());
  impl_->names.insert(impl_->names.end(), names.begin(), names.end());
  std::move(locals.begin(), locals.end(), std::back_inserter(impl_->locals));
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
  return search(Matrix(1, static_cast<int>(query.size()), query), k).front();
}

void Index::save(const std::filesystem::path& file) const {
  TensorMap tensors{{"descriptors", matrix_tensor(impl_->flat.get_xb(), size(), header().dim)},
                    {"names", text_tensor(json_text(nlohmann::json(names())))}};
  for (const auto& [name, matrix] : fitted()) {
    tensors[kFitted + name] = matrix_tensor(matrix.data(), matrix.rows(), matrix.cols());
  }
  if (!locals().empty()) put_locals(locals(), tensors);
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
  header.dim = descriptors.cols();
  const std::vector<std::string> names = read_names(file);
  if (std::ssize(names) != descriptors.rows() || header.dim < 1) {
    throw std::runtime_error(fmt::format("{} is damaged: {} descriptors of {} dims, {} names",
                                         path.string(),
                                         descriptors.rows(),
                                         header.dim,
                                         names.size()));
  }
  Index index(std::move(header));
  std::map<std::string, Matrix> fitted;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with(kFitted))
      fitted[name.substr(sizeof kFitted - 1)] = tensor_matrix(file, name);
  }
  index.set_fitted(std::move(fitted));
  index.add(descriptors, names, read_locals(file, names.size()));
  return index;
}

}  // namespace ria
