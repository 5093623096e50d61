// SPDX-License-Identifier: MIT
// Item types and the conversion of items.
#include <fmt/format.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <stdexcept>
#include <type_traits>

#include "archive/bytes.h"
#include "tensor/tensor.h"

namespace ria {

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

/// Selections instead of branches, so that a loop over it becomes vector code.
float from_half(std::uint16_t half) {
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  // zero and subnormals are fraction * 2^-24, exact in float
  const float small = static_cast<float>(static_cast<std::int32_t>(fraction)) * 0x1p-24f;
  const std::uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
  const std::uint32_t wide = (wide_exponent << 23) | (fraction << 13);
  const std::uint32_t magnitude = exponent == 0 ? std::bit_cast<std::uint32_t>(small) : wide;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  return std::bit_cast<float>(magnitude | sign);
}

#if defined(__x86_64__)
/// Processors since 2013 have an instruction for eight of them; which one this is, is asked when
/// running.
__attribute__((target("avx,f16c"))) std::size_t convert_eights(const std::uint8_t* halves,
                                                               std::span<float> out) {
  const std::size_t end = out.size() / 8 * 8;
  for (std::size_t i = 0; i < end; i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + 2 * i));
    _mm256_storeu_ps(out.data() + i, _mm256_cvtph_ps(eight));
  }
  return end;
}

bool has_half_instruction() {
  // Every processor with AVX2 has it, and not every compiler can ask for it by its own name.
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

float from_bfloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

template <typename In, typename Out, typename Convert>
void convert(std::span<const std::uint8_t> bytes, std::span<Out> out, Convert one) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<Out>(one(load<In>(bytes, i * sizeof(In))));
  }
}

template <typename Out>
void convert_halves(std::span<const std::uint8_t> bytes, std::span<Out> out) {
  std::size_t done = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<Out, float>) {
    if (has_half_instruction()) done = convert_eights(bytes.data(), out);
  }
#endif
  convert<std::uint16_t>(bytes.subspan(2 * done), out.subspan(done), from_half);
}

template <typename Out>
void copy_values(const Tensor& tensor, std::span<Out> out) {
  const auto same = [](auto value) { return value; };
  const auto truth = [](std::uint8_t value) { return value != 0 ? 1 : 0; };
  const std::span<const std::uint8_t> bytes = tensor.bytes;
  switch (tensor.dtype) {
    case DType::F64:
      return convert<double>(bytes, out, same);
    case DType::F32:
      return convert<float>(bytes, out, same);
    case DType::F16:
      return convert_halves(bytes, out);
    case DType::BF16:
      return convert<std::uint16_t>(bytes, out, from_bfloat);
    case DType::I64:
      return convert<std::int64_t>(bytes, out, same);
    case DType::I32:
      return convert<std::int32_t>(bytes, out, same);
    case DType::I16:
      return convert<std::int16_t>(bytes, out, same);
    case DType::I8:
      return convert<std::int8_t>(bytes, out, same);
    case DType::U8:
      return convert<std::uint8_t>(bytes, out, same);
    case DType::BOOL:
      return convert<std::uint8_t>(bytes, out, truth);
  }
  throw std::logic_error("unknown dtype");
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

std::vector<float> Tensor::floats() const {
  std::vector<float> out(static_cast<std::size_t>(size()));
  copy_values(*this, std::span(out));
  return out;
}

void Tensor::copy_floats(std::span<float> out) const {
  if (out.size() != static_cast<std::size_t>(size())) {
    throw std::invalid_argument(
        fmt::format("a tensor of {} values was to be copied to {}", size(), out.size()));
  }
  copy_values(*this, out);
}

std::vector<double> Tensor::doubles() const {
  std::vector<double> out(static_cast<std::size_t>(size()));
  copy_values(*this, std::span(out));
  return out;
}

}  // namespace ria
