// SPDX-License-Identifier: MIT
#include "head/head_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "archive/bytes.h"
#include "weights/prefixes.h"

namespace ria {

namespace {

constexpr std::int64_t kLongestDescriptor = 1 << 24;

std::string axis(std::int64_t size) {
  return size == HeadTensors::kAny ? "any" : std::to_string(size);
}

/// {rows, columns} of a matrix however it is stored; zeros if it is none.
std::array<std::int64_t, 2> matrix_shape(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 2) return {shape[0], shape[1]};
  if (shape.size() == 3 && shape[0] == 1) return {shape[1], shape[2]};
  if (shape.size() == 3 && shape[2] == 1) return {shape[0], shape[1]};
  if (shape.size() != 4) return {0, 0};
  if (shape[2] == 1 && shape[3] == 1) return {shape[0], shape[1]};
  if (shape[0] == 1 && shape[1] == 1) return {shape[2], shape[3]};
  return {0, 0};
}

bool fits(std::int64_t actual, std::int64_t expected) {
  return actual > 0 && actual <= INT32_MAX && (expected == HeadTensors::kAny || actual == expected);
}

bool fits_shape(std::int64_t expected, std::int64_t actual) { return fits(actual, expected); }

}  // namespace

HeadTensors::HeadTensors(const TensorFile& file,
                         const std::string& head,
                         const std::vector<std::string>& probes)
    : file_(file), head_(head), names_(names_behind_prefix(file, probes)) {
  if (names_.empty()) {
    throw std::runtime_error(fmt::format("{} holds no {}: the tensors {} were expected",
                                         file.path().string(),
                                         head,
                                         fmt::join(probes, ", ")));
  }
}

bool HeadTensors::holds(const TensorFile& file, const std::vector<std::string>& probes) {
  return !names_behind_prefix(file, probes).empty();
}

const Tensor& HeadTensors::at(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) {
    throw std::runtime_error(fmt::format(
        "{}: tensor {} is missing, which a {} needs", file_.path().string(), name, head_));
  }
  return file_.at(found->second);
}

void HeadTensors::refuse(const std::string& name, const std::string& problem) const {
  const auto found = names_.find(name);
  throw std::runtime_error(fmt::format("{}: tensor {} {}",
                                       file_.path().string(),
                                       printable(found != names_.end() ? found->second : name),
                                       problem));
}

int HeadTensors::count(const std::string& group) const {
  std::map<std::size_t, std::string> numbers;
  for (const auto& [name, stored] : names_) {
    if (!name.starts_with(group + ".")) continue;
    const char* first = name.data() + group.size() + 1;
    std::size_t number = 0;
    const auto parsed = std::from_chars(first, name.data() + name.size(), number);
    if (parsed.ec == std::errc()) numbers.emplace(number, name);
  }
  std::size_t expected = 0;
  for (const auto& [number, name] : numbers) {
    if (number != expected) {
      refuse(name,
             fmt::format(
                 "has no {}.{} before it, numbers without gaps were expected", group, expected));
    }
    ++expected;
  }
  return static_cast<int>(expected);
}

void HeadTensors::fill(const std::string& name,
                       const Tensor& tensor,
                       std::span<float> values) const {
  tensor.copy_floats(values);
  tensor.release();
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    refuse(name, "holds NaN or infinity, finite weights were expected");
  }
}

Matrix HeadTensors::matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const {
  const Tensor& tensor = at(name);
  const auto [r, c] = matrix_shape(tensor.shape);
  if (!fits(r, rows) || !fits(c, columns)) {
    refuse(name,
           fmt::format("is [{}], [{}, {}] was expected",
                       fmt::join(tensor.shape, ", "),
                       axis(rows),
                       axis(columns)));
  }
  Matrix out(static_cast<int>(r), static_cast<int>(c));
  fill(name, tensor, out.values());
  return out;
}

Vector HeadTensors::vector(const std::string& name, std::int64_t size) const {
  const Tensor& tensor = at(name);
  const auto axes =
      std::count_if(tensor.shape.begin(), tensor.shape.end(), [](auto n) { return n != 1; });
  if (axes > 1 || !fits(tensor.size(), size)) {
    refuse(name,
           fmt::format("is [{}], [{}] was expected", fmt::join(tensor.shape, ", "), axis(size)));
  }
  Vector out(static_cast<std::size_t>(tensor.size()));
  fill(name, tensor, out);
  return out;
}

std::vector<float> HeadTensors::values(const std::string& name,
                                       const std::vector<std::int64_t>& shape) const {
  const Tensor& tensor = at(name);
  const bool right = tensor.shape.size() == shape.size() &&
                     std::equal(shape.begin(), shape.end(), tensor.shape.begin(), fits_shape);
  if (!right) {
    std::vector<std::string> expected;
    for (const std::int64_t size : shape) expected.push_back(axis(size));
    refuse(name,
           fmt::format("is [{}], [{}] was expected",
                       fmt::join(tensor.shape, ", "),
                       fmt::join(expected, ", ")));
  }
  std::vector<float> out(static_cast<std::size_t>(tensor.size()));
  fill(name, tensor, out);
  return out;
}

std::int64_t HeadTensors::length(const std::string& name, std::size_t axis) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return 0;
  const std::vector<std::int64_t>& shape = file_.at(found->second).shape;
  return axis < shape.size() ? shape[axis] : 0;
}

double HeadTensors::scalar(const std::string& name) const { return vector(name, 1)[0]; }

int HeadTensors::dim(std::int64_t parts, std::int64_t values) const {
  if (parts > kLongestDescriptor / values) {
    throw std::runtime_error(
        fmt::format("{}: the {} makes descriptors of {} times {} values, at most "
                    "{} were expected",
                    file_.path().string(),
                    head_,
                    parts,
                    values,
                    kLongestDescriptor));
  }
  return static_cast<int>(parts * values);
}

}  // namespace ria
