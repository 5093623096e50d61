// SPDX-License-Identifier: MIT
// Which reader a file is for, by its content.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "archive/bytes.h"
#include "archive/zip.h"
#include "tensor/mat.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "tensor/tfjs.h"
#include "tensor/torch_archive.h"
#include "tensor/torch_legacy.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

using Bytes = std::span<const std::uint8_t>;
using Mapping = std::shared_ptr<const MappedFile>;

bool looks_like_safetensors(Bytes bytes) {
  // A JSON text that has a brace at offset 8 too holds no NUL; a header length below 2^56 does.
  return bytes.size() > 8 && bytes[8] == '{' && (bytes[0] != '{' || bytes[7] == 0);
}

bool looks_like_json(Bytes bytes) {
  const std::size_t first = as_text(bytes).find_first_not_of(" \n\r\t");
  return first != std::string_view::npos && bytes[first] == '{';
}

bool looks_like_tar(Bytes bytes) {
  return bytes.size() > 262 && starts_with(bytes.subspan(257), "ustar");
}

TensorFile read_zip_form(const fs::path& file, const Mapping& mapping) {
  ZipMembers members = read_zip(file, mapping->bytes());
  const auto any = [&](std::string_view ending) {
    return std::any_of(members.begin(), members.end(), [&](const auto& member) {
      return member.first.ends_with(ending);
    });
  };
  if (any("/data.pkl")) return read_torch_archive(file, mapping, std::move(members));
  if (any(".npy")) return read_npz(file, mapping, members);
  throw read_error(file, "the zip archive is neither a torch file (no data.pkl) nor an .npz");
}

TensorFile read_json_form(const fs::path& file, const Mapping& mapping) {
  const Bytes text = mapping->bytes();
  const auto content = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!content.is_object()) throw read_error(file, "it is not a whole JSON object");
  if (content.contains("weight_map")) return read_safetensors_index(file, content);
  return read_tfjs(file, content);
}

/// A model folder as Hugging Face lays it out.
fs::path model_in(const fs::path& folder) {
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  throw read_error(folder,
                   "the folder has neither a model.safetensors.index.json nor a model.safetensors");
}

}  // namespace

TensorFile TensorFile::open(const fs::path& file) {
  std::error_code ignored;  // MappedFile::open() says what is wrong
  if (fs::is_directory(file, ignored)) return open(model_in(file));
  return read(file, MappedFile::open(file));
}

TensorFile TensorFile::read(const fs::path& file, const Mapping& mapping) {
  const Bytes bytes = mapping->bytes();
  if (looks_like_safetensors(bytes)) return read_safetensors(file, mapping);
  if (starts_with(bytes, "PK\x03\x04")) return read_zip_form(file, mapping);
  if (starts_with(bytes, "\x93NUMPY")) {
    return {file, WeightFormat::npy, {{"tensor", read_npy(file, bytes, mapping)}}, {}};
  }
  if (looks_like_mat(bytes)) return read_mat_tensors(file, mapping);
  if (looks_like_tar(bytes)) {
    throw read_error(file,
                     "it is a tar archive, as torch wrote before 0.1.10, which is not supported; "
                     "load it in a later torch and torch.save() it again");
  }
  if (starts_with(bytes, "\x89HDF\r\n\x1a\n")) {
    throw read_error(file, "it is an HDF5 file, which is not supported as weights");
  }
  if (starts_with(bytes, "\x80")) return read_torch_legacy(file, mapping);
  if (looks_like_json(bytes)) return read_json_form(file, mapping);
  throw read_error(file,
                   "a safetensors file, torch file, tfjs model.json, .mat, .npy or .npz was "
                   "expected");
}

}  // namespace ria
