// SPDX-License-Identifier: MIT
#include "tensor/pickled_array.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "archive/bytes.h"

namespace ria {

using Kind = PickleValue::Kind;

namespace {

constexpr std::array<std::pair<std::string_view, DType>, 8> kNumbers{{{"f8", DType::F64},
                                                                      {"f4", DType::F32},
                                                                      {"f2", DType::F16},
                                                                      {"i8", DType::I64},
                                                                      {"i4", DType::I32},
                                                                      {"i2", DType::I16},
                                                                      {"i1", DType::I8},
                                                                      {"u1", DType::U8}}};

/// Columns one after the other -> rows one after the other.
std::vector<std::uint8_t> row_major(std::string_view columns,
                                    std::int64_t rows,
                                    std::int64_t width,
                                    std::size_t item) {
  std::vector<std::uint8_t> out(columns.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < width; ++c) {
      std::memcpy(
          out.data() + (r * width + c) * item, columns.data() + (c * rows + r) * item, item);
    }
  }
  return out;
}

}  // namespace

bool is_pickled_array(const PickleValue& value) {
  return value.kind == Kind::reduced && value.text.ends_with("multiarray _reconstruct");
}

bool read_pickled_dtype(const PickleValue& value, PickledArray& out) {
  const bool known = value.kind == Kind::reduced && value.text == "numpy dtype" &&
                     !value.items.empty() && value.items[0]->kind == Kind::string;
  if (!known) return false;
  out.dtype = value.items[0]->text;
  const PickleValue* state = value.state;
  const bool ordered = state != nullptr && state->kind == Kind::tuple && state->items.size() >= 2 &&
                       state->items[1]->kind == Kind::string && state->items[1]->text.size() == 1;
  if (ordered) out.order = state->items[1]->text[0];
  return true;
}

std::optional<PickledArray> read_pickled_array(const PickleValue& value) {
  if (!is_pickled_array(value) || value.state == nullptr || value.state->kind != Kind::tuple)
    return {};
  const auto& state = value.state->items;
  PickledArray out;
  if (state.size() != 5 || state[1]->kind != Kind::tuple || !read_pickled_dtype(*state[2], out))
    return {};
  for (const PickleValue* size : state[1]->items) {
    if (size->kind != Kind::integer || out.shape.size() == 64) return {};
    out.shape.push_back(size->integer);
  }
  out.fortran_order = state[3]->kind == Kind::boolean && state[3]->integer != 0;
  out.values = state[4];
  return out;
}

std::optional<Tensor> pickled_tensor(const PickleValue& value) {
  const std::optional<PickledArray> array = read_pickled_array(value);
  if (!array || array->order == '>') return {};
  if (array->values->kind != Kind::bytes && array->values->kind != Kind::string) return {};
  const std::string& bytes = array->values->text;
  for (const auto& [name, dtype] : kNumbers) {
    if (array->dtype != name) continue;
    const std::size_t item = item_size(dtype);
    const auto size = checked_product(array->shape, item);
    if (!size || *size != bytes.size()) return {};
    if (!array->fortran_order || array->shape.size() < 2) {
      return make_tensor(dtype, array->shape, {bytes.begin(), bytes.end()});
    }
    if (array->shape.size() > 2) return {};
    return make_tensor(
        dtype, array->shape, row_major(bytes, array->shape[0], array->shape[1], item));
  }
  return {};
}

}  // namespace ria
