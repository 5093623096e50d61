// SPDX-License-Identifier: MIT
#include "arrays.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace ria::python {

namespace {

/// Moves the holder to the heap and lets the array free it.
template <typename Holder>
py::array owned(Holder holder, std::vector<py::ssize_t> shape) {
  auto kept = std::make_unique<Holder>(std::move(holder));
  const auto* data = [&] {
    if constexpr (std::is_same_v<Holder, Image>) {
      return kept->rgb.data();
    } else {
      return kept->data();
    }
  }();
  const py::capsule owner(kept.get(), [](void* memory) { delete static_cast<Holder*>(memory); });
  kept.release();
  return py::array(
      py::dtype::of<std::remove_cvref_t<decltype(*data)>>(), std::move(shape), data, owner);
}

py::array read_only(py::array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

PixelFormat format_of(const std::string& name, py::ssize_t channels) {
  struct Known {
    const char* name;
    PixelFormat format;
    int channels;
  };
  constexpr Known kKnown[] = {{"rgb", PixelFormat::kRgb, 3},
                              {"bgr", PixelFormat::kBgr, 3},
                              {"grey", PixelFormat::kGrey, 1},
                              {"rgba", PixelFormat::kRgba, 4},
                              {"bgra", PixelFormat::kBgra, 4}};
  for (const Known& known : kKnown) {
    if (known.channels == channels && (name.empty() || name == known.name)) return known.format;
  }
  throw std::invalid_argument("format is '" + name + "' of a picture of " +
                              std::to_string(channels) +
                              " channels; grey (1), rgb or bgr (3), rgba or bgra (4) was expected");
}

py::array_t<float, py::array::c_style | py::array::forcecast> floats(const py::array& values) {
  const char kind = values.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u')
    throw py::type_error("an array of numbers was expected");
  return values;
}

}  // namespace

py::array to_array(Vector values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return owned(std::move(values), {size});
}

py::array to_array(Matrix matrix) {
  const int rows = matrix.rows(), cols = matrix.cols();
  return owned(std::move(matrix), {rows, cols});
}

py::array to_array(Image image) {
  const int height = image.height, width = image.width;
  return owned(std::move(image), {height, width, 3});
}

py::array view_of(const Matrix& matrix, py::handle owner) {
  return read_only(
      py::array(py::dtype::of<float>(), {matrix.rows(), matrix.cols()}, matrix.data(), owner));
}

py::array view_of(const Vector& values, py::handle owner) {
  return read_only(py::array(py::dtype::of<float>(), {values.size()}, values.data(), owner));
}

Matrix to_matrix(const py::array& rows) {
  if (rows.ndim() != 1 && rows.ndim() != 2) {
    throw std::invalid_argument("the array has " + std::to_string(rows.ndim()) +
                                " dimensions, 2 were expected: one row a picture");
  }
  const auto values = floats(rows);
  const bool one = rows.ndim() == 1;
  return Matrix(one ? 1 : static_cast<int>(values.shape(0)),
                static_cast<int>(values.shape(one ? 0 : 1)),
                std::vector<float>(values.data(), values.data() + values.size()));
}

Vector to_vector(const py::array& values) {
  if (values.ndim() != 1) {
    throw std::invalid_argument("the array has " + std::to_string(values.ndim()) +
                                " dimensions, 1 was expected");
  }
  const auto given = floats(values);
  return Vector(given.data(), given.data() + given.size());
}

Picture::Picture(const py::array& pixels, const std::string& format) : kept(pixels) {
  if (!py::isinstance<py::array_t<std::uint8_t>>(pixels)) {
    throw py::type_error("a picture of " + py::str(pixels.dtype()).cast<std::string>() +
                         " values, uint8 was expected");
  }
  if (pixels.ndim() != 2 && pixels.ndim() != 3) {
    throw std::invalid_argument("a picture of " + std::to_string(pixels.ndim()) +
                                " dimensions, height x width x channels was expected");
  }
  const py::ssize_t channels = pixels.ndim() == 2 ? 1 : pixels.shape(2);
  const PixelFormat kind = format_of(format, channels);
  const bool together = pixels.strides(1) == channels &&
                        (pixels.ndim() == 2 || channels == 1 || pixels.strides(2) == 1);
  if (!together || pixels.strides(0) < channels * pixels.shape(1)) {
    kept = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>(pixels);
  }
  view = ImageView(static_cast<const std::uint8_t*>(kept.data()),
                   static_cast<int>(kept.shape(0)),
                   static_cast<int>(kept.shape(1)),
                   kept.strides(0),
                   kind);
  view.validate();
}

py::tuple to_arrays(const std::vector<std::vector<Match>>& matches) {
  std::size_t most = 0;
  for (const auto& row : matches) most = std::max(most, row.size());
  py::array_t<int> places({matches.size(), most});
  py::array_t<float> scores({matches.size(), most});
  int* place = places.mutable_data();
  float* score = scores.mutable_data();
  for (const auto& row : matches) {
    for (std::size_t i = 0; i < most; ++i) {
      const bool there = i < row.size();
      *place++ = there ? row[i].place : -1;
      *score++ = there ? row[i].score : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return py::make_tuple(places, scores);
}

py::tuple to_arrays(const std::vector<Match>& matches) {
  py::array_t<int> places(matches.size());
  py::array_t<float> scores(matches.size());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    places.mutable_data()[i] = matches[i].place;
    scores.mutable_data()[i] = matches[i].score;
  }
  return py::make_tuple(places, scores);
}

}  // namespace ria::python
