// SPDX-License-Identifier: MIT
#include "weights/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "weights/bytes.h"
#include "weights/safetensors.h"
#include "weights/tfjs.h"
#include "weights/torch_archive.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeRow, 10> kDTypes{{{DType::F64, "F64", 8},
                                            {DType::F32, "F32", 4},
                                            {DType::F16, "F16", 2},
                                            {DType::BF16, "BF16", 2},
                                            {DType::I64, "I64", 8},
                                            {DType::I32, "I32", 4},
                                            {DType::I16, "I16", 2},
                                            {DType::I8, "I8", 1},
                                            {DType::U8, "U8", 1},
                                            {DType::BOOL, "BOOL", 1}}};

float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24, exact in float
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (fraction << 13));
}

float from_bfloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

template <typename Out, typename In, typename Convert>
std::vector<Out> convert(const Tensor& tensor, Convert one) {
  std::vector<Out> out(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<Out>(one(load<In>(tensor.bytes, i * sizeof(In))));
  }
  return out;
}

template <typename Out>
std::vector<Out> values(const Tensor& tensor) {
  const auto same = [](auto value) { return value; };
  const auto truth = [](std::uint8_t value) { return value != 0 ? 1 : 0; };
  switch (tensor.dtype) {
    case DType::F64:
      return convert<Out, double>(tensor, same);
    case DType::F32:
      return convert<Out, float>(tensor, same);
    case DType::F16:
      return convert<Out, std::uint16_t>(tensor, from_half);
    case DType::BF16:
      return convert<Out, std::uint16_t>(tensor, from_bfloat);
    case DType::I64:
      return convert<Out, std::int64_t>(tensor, same);
    case DType::I32:
      return convert<Out, std::int32_t>(tensor, same);
    case DType::I16:
      return convert<Out, std::int16_t>(tensor, same);
    case DType::I8:
      return convert<Out, std::int8_t>(tensor, same);
    case DType::U8:
      return convert<Out, std::uint8_t>(tensor, same);
    case DType::BOOL:
      return convert<Out, std::uint8_t>(tensor, truth);
  }
  throw std::logic_error("unknown dtype");
}

bool starts_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](char a, std::uint8_t b) {
           return static_cast<std::uint8_t>(a) == b;
         });
}

bool looks_like_safetensors(std::span<const std::uint8_t> bytes) {
  // A JSON text that has a brace at offset 8 too holds no NUL; a header length below 2^56 does.
  return bytes.size() > 8 && bytes[8] == '{' && (bytes[0] != '{' || bytes[7] == 0);
}

bool looks_like_json(std::span<const std::uint8_t> bytes) {
  const auto first = std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t c) {
    return c != ' ' && c != '\n' && c != '\r' && c != '\t';
  });
  return first != bytes.end() && *first == '{';
}

}  // namespace

std::size_t item_size(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].size; }

std::string_view dtype_name(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::int64_t Tensor::size() const {
  return static_cast<std::int64_t>(bytes.size() / item_size(dtype));
}

std::vector<float> Tensor::floats() const { return values<float>(*this); }

std::vector<double> Tensor::doubles() const { return values<double>(*this); }

Tensor make_tensor(DType dtype, std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes) {
  const auto expected = checked_product(shape, item_size(dtype));
  if (!expected || *expected != bytes.size()) {
    throw std::invalid_argument(fmt::format("tensor {} of shape [{}] cannot hold {} bytes",
                                            dtype_name(dtype),
                                            fmt::join(shape, ", "),
                                            bytes.size()));
  }
  auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  const std::span<const std::uint8_t> view(*owner);
  return {dtype, std::move(shape), view, std::move(owner)};
}

Tensor make_tensor(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  return make_tensor(DType::F32, std::move(shape), {first, first + values.size() * sizeof(float)});
}

TensorFile::TensorFile(fs::path path, WeightFormat format, TensorMap tensors, Metadata metadata)
    : path_(std::move(path)),
      format_(format),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)) {}

TensorFile TensorFile::open(const fs::path& file) {
  const std::shared_ptr<const MappedFile> mapping = MappedFile::open(file);
  const std::span<const std::uint8_t> bytes = mapping->bytes();
  if (looks_like_safetensors(bytes)) return read_safetensors(file, mapping);
  if (starts_with(bytes, "PK\x03\x04")) return read_torch_archive(file, mapping);
  if (starts_with(bytes, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9")) {
    throw read_error(file,
                     "it is a legacy torch file (before torch 1.6), which is not supported; load "
                     "it in torch and torch.save() it again");
  }
  if (looks_like_json(bytes)) return read_tfjs(file);
  throw read_error(file, "a safetensors file, torch zip archive or tfjs model.json was expected");
}

std::vector<std::string> TensorFile::names() const {
  std::vector<std::string> out;
  out.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) out.push_back(name);
  return out;
}

const Tensor& TensorFile::at(const std::string& name) const& {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw std::runtime_error(fmt::format(
        "{} has no tensor {} (it holds {})", path_.string(), printable(name), tensors_.size()));
  }
  return found->second;
}

}  // namespace ria
