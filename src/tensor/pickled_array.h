// SPDX-License-Identifier: MIT
// NumPy arrays inside pickles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/pickle.h"
#include "tensor/tensor.h"

namespace ria {

/// What ndarray.__setstate__ is given: (version, shape, dtype, fortran order, values).
struct PickledArray {
  std::vector<std::int64_t> shape;
  std::string dtype;  ///< "i8", "O8"
  char order = '|';   ///< of the bytes of a value
  bool fortran_order = false;
  const PickleValue* values = nullptr;
};

bool is_pickled_array(const PickleValue& value);
/// Nothing if it is none, or a damaged one.
std::optional<PickledArray> read_pickled_array(const PickleValue& value);
/// numpy.dtype('i8', False, True) with the state (3, '<', ...): fills in dtype and order.
bool read_pickled_dtype(const PickleValue& value, PickledArray& out);

/// An array of little-endian numbers as a row-major tensor; nothing for any other.
std::optional<Tensor> pickled_tensor(const PickleValue& value);

}  // namespace ria
