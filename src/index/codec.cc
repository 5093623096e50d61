// SPDX-License-Identifier: MIT
#include "index/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "structure/rounding.h"
#include "tensor/tensor.h"

namespace ria {

namespace {

constexpr int kLineBytes = 64;

double product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

void put(std::span<const float> values, const RowForm& form, std::uint8_t* row) {
  switch (form.storage) {
    case Storage::kFloat:
      std::memcpy(row, values.data(), values.size_bytes());
      return;
    case Storage::kHalf: {
      const std::vector<std::uint16_t> halves = to_halves(values);
      std::memcpy(row, halves.data(), halves.size() * sizeof(std::uint16_t));
      return;
    }
    case Storage::kInt8:
      round_to(values, kByteLevels, reinterpret_cast<std::int8_t*>(row));
      return;
  }
}

}  // namespace

std::string to_string(Storage storage) {
  return storage == Storage::kFloat ? "float" : storage == Storage::kHalf ? "half" : "int8";
}

Storage parse_storage(const std::string& name) {
  for (const Storage storage : {Storage::kFloat, Storage::kHalf, Storage::kInt8}) {
    if (to_string(storage) == name) return storage;
  }
  throw std::invalid_argument(
      fmt::format("storage is '{}', float, half or int8 was expected", name));
}

int RowForm::value_bytes() const {
  return storage == Storage::kFloat ? 4 : storage == Storage::kHalf ? 2 : 1;
}
int RowForm::values() const {
  const int line = kLineBytes / value_bytes();
  return (dim + line - 1) / line * line;
}
std::size_t RowForm::row_bytes() const {
  return static_cast<std::size_t>(values()) * static_cast<std::size_t>(value_bytes());
}

EncodedRows encode(const Matrix& descriptors, const RowForm& form) {
  EncodedRows rows;
  rows.data.resize(static_cast<std::size_t>(descriptors.rows()) * form.row_bytes());
  std::vector<float> kept(static_cast<std::size_t>(form.dim));
  for (int i = 0; i < descriptors.rows(); ++i) {
    std::uint8_t* row = rows.data.data() + static_cast<std::size_t>(i) * form.row_bytes();
    put(descriptors.row(i), form, row);
    float scale = 1;
    if (form.storage != Storage::kFloat) {
      decode(row, 1, form, kept);
      const double own = product(descriptors.row(i), descriptors.row(i));
      const double with_kept = product(descriptors.row(i), kept);
      scale = with_kept > 0 ? static_cast<float>(own / with_kept) : 0;
    }
    rows.scales.push_back(scale);
  }
  return rows;
}

void decode(const std::uint8_t* row, float scale, const RowForm& form, std::span<float> out) {
  switch (form.storage) {
    case Storage::kFloat:
      std::memcpy(out.data(), row, out.size_bytes());
      break;
    case Storage::kHalf:
      from_halves({reinterpret_cast<const std::uint16_t*>(row), out.size()}, out);
      break;
    case Storage::kInt8:
      std::copy_n(reinterpret_cast<const std::int8_t*>(row), out.size(), out.begin());
      break;
  }
  if (scale != 1) {
    for (float& value : out) value *= scale;
  }
}

Matrix decode(const EncodedRows& rows, const RowForm& form) {
  Matrix decoded(rows.count(), form.dim);
  for (int i = 0; i < rows.count(); ++i) {
    decode(rows.data.data() + static_cast<std::size_t>(i) * form.row_bytes(),
           rows.scales[static_cast<std::size_t>(i)],
           form,
           decoded.row(i));
  }
  return decoded;
}

EncodedRows convert(EncodedRows rows, const RowForm& from, const RowForm& to) {
  return from == to ? std::move(rows) : encode(decode(rows, from), to);
}

EncodedQueries::EncodedQueries(const Matrix& queries, const RowForm& form)
    : query_bytes(static_cast<std::size_t>(form.values()) *
                  (form.storage == Storage::kInt8 ? sizeof(std::int16_t) : sizeof(float))) {
  data = AlignedBuffer<std::uint8_t>(static_cast<std::size_t>(queries.rows()) * query_bytes);
  const int levels = query_levels(form.dim);
  for (int i = 0; i < queries.rows(); ++i) {
    const std::span<const float> query = queries.row(i);
    std::uint8_t* to = data.data() + static_cast<std::size_t>(i) * query_bytes;
    float scale = 1;
    if (form.storage == Storage::kInt8) {
      scale = round_to(query, levels, reinterpret_cast<std::int16_t*>(to));
    } else {
      std::memcpy(to, query.data(), query.size_bytes());
    }
    scales.push_back(scale);
  }
}

const void* EncodedQueries::at(int query) const {
  return data.data() + static_cast<std::size_t>(query) * query_bytes;
}

ScanFunction scan_function(const ScanKernels& kernels, Storage storage) {
  return storage == Storage::kFloat  ? kernels.floats
         : storage == Storage::kHalf ? kernels.halves
                                     : kernels.bytes;
}

}  // namespace ria
