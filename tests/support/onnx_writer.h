// SPDX-License-Identifier: MIT
// Writes ONNX models: just enough of the protobuf wire format and of onnx.proto for the tests.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace ria {

/// Parts of a message, in wire format.
namespace protobuf {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string integer(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string text(int field, const std::string& value) {
  return varint((static_cast<std::uint64_t>(field) << 3) | 2) + varint(value.size()) + value;
}
inline std::string number(int field, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string bytes = varint((static_cast<std::uint64_t>(field) << 3) | 5);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((bits >> shift) & 0xff);
  return bytes;
}
inline std::string pair(int field, const std::string& key, const std::string& value) {
  return text(field, text(1, key) + text(2, value));
}

}  // namespace protobuf

/// Collects nodes and constants; every function returns the name of what it adds.
class OnnxGraph {
 public:
  using Shape = std::vector<std::int64_t>;
  using Attribute = std::variant<std::int64_t, float, Shape>;
  using Attributes = std::map<std::string, Attribute>;
  enum Type { kFloat = 1, kUint8 = 2, kInt64 = 7 };  // of TensorProto

  std::string constant(const Shape& shape, const std::vector<float>& values) {
    return add_constant(
        shape,
        kFloat,
        protobuf::text(9, {reinterpret_cast<const char*>(values.data()), values.size() * 4}));
  }
  std::string constant(const Tensor& tensor) { return constant(tensor.shape, tensor.floats()); }
  std::string scalar(float value) { return constant({}, {value}); }
  std::string integers(const Shape& values) {
    return add_constant(
        {static_cast<std::int64_t>(values.size())},
        kInt64,
        protobuf::text(9, {reinterpret_cast<const char*>(values.data()), values.size() * 8}));
  }
  /// Floats that stand in another file, from its beginning.
  std::string external(const Shape& shape, const std::string& file) {
    return add_constant(
        shape, kFloat, protobuf::pair(13, "location", file) + protobuf::integer(14, 1));
  }

  std::string node(const std::string& operation,
                   const std::vector<std::string>& inputs,
                   const Attributes& attributes = {},
                   const std::string& name = "") {
    const std::string output = name.empty() ? operation + std::to_string(made_++) : name;
    std::string node;
    for (const std::string& input : inputs) node += protobuf::text(1, input);
    node += protobuf::text(2, output) + protobuf::text(4, operation);
    for (const auto& [key, value] : attributes) node += protobuf::text(5, attribute(key, value));
    parts_ += protobuf::text(1, node);
    return output;
  }

  /// -1 is an axis that is left open.
  std::string input(const std::string& name, const Shape& shape, Type type = kFloat) {
    parts_ += protobuf::text(11, value(name, shape, type));
    return name;
  }
  void output(const std::string& name, const Shape& shape) {
    parts_ += protobuf::text(12, value(name, shape, kFloat));
  }
  void metadata(const std::string& key, const std::string& value) {
    metadata_ += protobuf::pair(14, key, value);
  }

  std::string model() const {
    return protobuf::integer(1, 8) + protobuf::text(7, protobuf::text(2, "network") + parts_) +
           protobuf::text(8, protobuf::text(1, "") + protobuf::integer(2, 17)) + metadata_;
  }

 private:
  std::string add_constant(const Shape& shape, Type type, const std::string& content) {
    const std::string name = "constant" + std::to_string(made_++);
    std::string tensor;
    for (const std::int64_t side : shape) tensor += protobuf::integer(1, side);
    parts_ +=
        protobuf::text(5, tensor + protobuf::integer(2, type) + protobuf::text(8, name) + content);
    return name;
  }

  static std::string attribute(const std::string& name, const Attribute& value) {
    std::string content = protobuf::text(1, name);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      return content + protobuf::integer(3, *integer) + protobuf::integer(20, 2);
    }
    if (const auto* number = std::get_if<float>(&value)) {
      return content + protobuf::number(2, *number) + protobuf::integer(20, 1);
    }
    for (const std::int64_t one : std::get<Shape>(value)) content += protobuf::integer(8, one);
    return content + protobuf::integer(20, 7);
  }

  static std::string value(const std::string& name, const Shape& shape, Type type) {
    std::string sides;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      sides += protobuf::text(1,
                              shape[i] < 0 ? protobuf::text(2, "axis" + std::to_string(i))
                                           : protobuf::integer(1, shape[i]));
    }
    const std::string tensor = protobuf::integer(1, type) + protobuf::text(2, sides);
    return protobuf::text(1, name) + protobuf::text(2, protobuf::text(1, tensor));
  }

  std::string parts_, metadata_;
  int made_ = 0;
};

}  // namespace ria
