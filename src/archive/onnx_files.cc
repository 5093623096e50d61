// SPDX-License-Identifier: MIT
// The protobuf wire format, as far as it takes to find one kind of field of onnx.proto.
#include "archive/onnx_files.h"

#include <optional>
#include <set>

#include "archive/bytes.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

/// Fields of onnx.proto on the way to TensorProto.external_data.
constexpr std::uint64_t kGraph = 7;            // of ModelProto
constexpr std::uint64_t kInitializer = 5;      // of GraphProto
constexpr std::uint64_t kExternalData = 13;    // of TensorProto
constexpr std::uint64_t kKey = 1, kValue = 2;  // of StringStringEntryProto

/// The fields of one message in their order; ends at the first byte that is none.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  /// Number of the next field; its content, if it has a length, is in content().
  std::optional<std::uint64_t> next() {
    content_ = {};
    const auto tag = varint();
    if (!tag) return std::nullopt;
    switch (*tag & 7) {
      case 0:
        if (!varint()) return std::nullopt;
        break;
      case 1:
        if (!take(8)) return std::nullopt;
        break;
      case 2: {
        const auto size = varint();
        if (!size || !take(*size)) return std::nullopt;
        break;
      }
      case 5:
        if (!take(4)) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
    return *tag >> 3;
  }
  Bytes content() const { return content_; }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const std::uint8_t byte = rest_[0];
      rest_ = rest_.subspan(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  bool take(std::uint64_t size) {
    if (size > rest_.size()) return false;
    content_ = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return true;
  }

  Bytes rest_;
  Bytes content_;
};

/// Calls use(content) for every field of this number.
template <typename Use>
void each(Bytes message, std::uint64_t number, Use use) {
  Fields fields(message);
  while (const auto found = fields.next()) {
    if (*found == number) use(fields.content());
  }
}

}  // namespace

std::vector<std::string> onnx_external_files(Bytes model) {
  std::set<std::string> files;
  each(model, kGraph, [&](Bytes graph) {
    each(graph, kInitializer, [&](Bytes tensor) {
      each(tensor, kExternalData, [&](Bytes entry) {
        std::string key, value;
        each(entry, kKey, [&](Bytes text) { key = as_text(text); });
        each(entry, kValue, [&](Bytes text) { value = as_text(text); });
        if (key == "location") files.insert(value);
      });
    });
  });
  return {files.begin(), files.end()};
}

}  // namespace ria
