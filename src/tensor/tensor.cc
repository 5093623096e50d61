// SPDX-License-Identifier: MIT
#include "tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <stdexcept>
#include <utility>

#include "archive/bytes.h"

namespace ria {

namespace {

/// Rounded to the nearest half, of two equally near ones to the even.
std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // from 65520
  if (magnitude < 0x38800000u) {
    // Below the smallest normal half: beside 0.5 a float has the steps of such a half.
    const float beside = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(beside) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace

namespace fs = std::filesystem;

std::int64_t Tensor::size() const {
  return static_cast<std::int64_t>(bytes.size() / item_size(dtype));
}

void Tensor::release() const {
  if (mapped != nullptr) mapped->release(bytes);
}

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

std::vector<std::uint16_t> to_halves(std::span<const float> values) {
  std::vector<std::uint16_t> halves;
  halves.reserve(values.size());
  for (const float value : values) halves.push_back(half_of(value));
  return halves;
}

void from_halves(std::span<const std::uint16_t> halves, std::span<float> out) {
  const Tensor tensor{DType::F16,
                      {std::ssize(halves)},
                      {reinterpret_cast<const std::uint8_t*>(halves.data()), halves.size_bytes()},
                      nullptr,
                      nullptr};
  tensor.copy_floats(out);
}

Tensor make_tensor(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  return make_tensor(DType::F32, std::move(shape), {first, first + values.size() * sizeof(float)});
}

Tensor mapped_tensor(DType dtype,
                     std::vector<std::int64_t> shape,
                     std::span<const std::uint8_t> bytes,
                     const std::shared_ptr<const MappedFile>& mapping) {
  return {dtype, std::move(shape), bytes, mapping, mapping.get()};
}

TensorFile::TensorFile(fs::path path, WeightFormat format, TensorMap tensors, Metadata metadata)
    : path_(std::move(path)),
      format_(format),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)) {}

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
