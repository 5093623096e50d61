// SPDX-License-Identifier: MIT
// numpy's arrays and ria's memory: pictures are read where they are, matrices are given out as they
// are.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "ria/image.h"
#include "ria/map.h"
#include "ria/matrix.h"

namespace ria::python {

namespace py = pybind11;

/// An array that keeps its values alive by itself.
py::array to_array(Vector values);
py::array to_array(Matrix matrix);
/// uint8, height x width x 3
py::array to_array(Image image);

/// The same memory, for as long as `owner` lives; it cannot be written to.
py::array view_of(const Matrix& matrix, py::handle owner);
py::array view_of(const Vector& values, py::handle owner);

/// A copy of an array of two dimensions (or of one, as one row); float32 or what becomes it.
Matrix to_matrix(const py::array& rows);
Vector to_vector(const py::array& values);

/// The array and the view of it, which is read where it is unless pixels lie apart in memory.
/// `format` is rgb, bgr, grey, rgba or bgra; empty: what the shape says.
struct Picture {
  Picture(const py::array& pixels, const std::string& format);
  py::array kept;
  ImageView view;
};

/// Places and scores, a row a query; where a query has fewer answers than another: -1 and NaN.
py::tuple to_arrays(const std::vector<std::vector<Match>>& matches);
py::tuple to_arrays(const std::vector<Match>& matches);

}  // namespace ria::python
