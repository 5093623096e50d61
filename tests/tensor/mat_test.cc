// SPDX-License-Identifier: MIT
// .mat files built by hand, element by element.
#include "tensor/mat.h"

#include <zlib.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support/mat_elements.h"
#include "support/weights_fixture.h"

namespace ria::weights_test {
namespace {

using namespace mat_elements;
using Kind = MatValue::Kind;

std::string compressed(const std::string& content) {
  std::string out(content.size() + 100, '\0');
  uLongf size = out.size();
  ::compress(reinterpret_cast<Bytef*>(out.data()),
             &size,
             reinterpret_cast<const Bytef*>(content.data()),
             content.size());
  return le(std::uint32_t{15}) + le(static_cast<std::uint32_t>(size)) + out.substr(0, size);
}

std::map<std::string, MatValue> parse(const std::string& content) {
  return read_mat("x.mat", MappedFile::from_memory({content.begin(), content.end()}));
}

MatValue variable(const std::string& content) { return parse(header() + content).at("x"); }

TEST(Mat, ColumnsBecomeRows) {
  const MatValue value =
      variable(matrix(kSingle, {2, 3}, "x", element(7, values({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}))));
  EXPECT_EQ(value.dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(value.floats(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(value.tensor().dtype, DType::F32);
  EXPECT_EQ(value.tensor().floats(), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  // [i, j, k] lies at i + 2 j + 6 k.
  std::string data;
  for (int i = 0; i < 24; ++i) data += static_cast<char>(i);
  const Tensor cube = variable(matrix(kInt8, {2, 3, 4}, "x", element(1, data))).tensor();
  const std::vector<double> rows = cube.doubles();
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) EXPECT_EQ(rows[(i * 3 + j) * 4 + k], i + 2 * j + 6 * k);
    }
  }
}

TEST(Mat, EveryTypeOfNumber) {
  const auto check =
      [](std::uint32_t kind, std::uint32_t type, const std::string& data, DType dtype) {
        const MatValue value = variable(matrix(kind, {1, 2}, "x", element(type, data)));
        EXPECT_EQ(value.tensor().dtype, dtype);
        EXPECT_EQ(value.doubles(), (std::vector<double>{7, 3})) << type;
        EXPECT_EQ(value.tensor().doubles(), (std::vector<double>{7, 3})) << type;
      };
  check(kDouble, 9, values({7.0, 3.0}), DType::F64);
  // MATLAB stores doubles that are small integers in small types.
  check(kDouble, 1, values<std::int8_t>({7, 3}), DType::F64);
  check(kDouble, 2, values<std::uint8_t>({7, 3}), DType::F64);
  check(kDouble, 3, values<std::int16_t>({7, 3}), DType::F64);
  check(kDouble, 4, values<std::uint16_t>({7, 3}), DType::F64);
  check(kDouble, 5, values<std::int32_t>({7, 3}), DType::F64);
  check(kSingle, 6, values<std::uint32_t>({7, 3}), DType::F32);
  check(kInt8, 1, values<std::int8_t>({7, 3}), DType::I8);
  check(9, 2, values<std::uint8_t>({7, 3}), DType::U8);
  check(10, 3, values<std::int16_t>({7, 3}), DType::I16);
  check(kUint16, 4, values<std::uint16_t>({7, 3}), DType::I32);
  check(12, 5, values<std::int32_t>({7, 3}), DType::I32);
  check(13, 6, values<std::uint32_t>({7, 3}), DType::I64);
  check(kInt64, 12, values<std::int64_t>({7, 3}), DType::I64);
  check(kUint64, 13, values<std::uint64_t>({7, 3}), DType::I64);
  const MatValue flag = variable(matrix(9 | kLogical, {1, 2}, "x", small(2, {1, 0})));
  EXPECT_EQ(flag.kind, Kind::logical);
  EXPECT_EQ(flag.tensor().dtype, DType::BOOL);
  EXPECT_EQ(flag.doubles(), (std::vector<double>{1, 0}));
}

TEST(Mat, TextCellsAndStructs) {
  const std::string text =
      matrix(kChar, {2, 2}, "", element(4, values<std::uint16_t>({'a', 'c', 'b', 'd'})));
  const std::string utf8 = matrix(kChar, {1, 2}, "", element(16, "Z\xc3\xbc"));
  const std::string pair =
      matrix(kChar, {1, 2}, "", element(17, values<std::uint16_t>({0xd83d, 0xde00})));
  const std::string number = matrix(kDouble, {1, 1}, "", small(2, "\x05"));
  const std::string empty = element(14, "");
  const MatValue cell = variable(matrix(kCell, {1, 5}, "x", text + utf8 + pair + number + empty));
  ASSERT_EQ(cell.cells.size(), 5u);
  EXPECT_EQ(cell.cells[0].rows(), (std::vector<std::string>{"ab", "cd"}));
  EXPECT_EQ(cell.cells[1].rows(), std::vector<std::string>{"Z\xc3\xbc"});
  EXPECT_EQ(cell.cells[2].rows(), std::vector<std::string>{"\xf0\x9f\x98\x80"});
  EXPECT_EQ(cell.cells[3].doubles(), std::vector<double>{5});
  EXPECT_EQ(cell.cells[4].size(), 0u);
  EXPECT_THROW(cell.doubles(), std::invalid_argument);
  EXPECT_THROW(cell.rows(), std::invalid_argument);

  const std::string names =
      small(5, le(std::int32_t{4})) + element(1, std::string("a\0\0\0bc\0\0", 8));
  const MatValue two =
      variable(matrix(kStruct, {1, 2}, "x", names + number + text + utf8 + number));
  EXPECT_EQ(two.field_names, (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(two.find("a")->doubles(), std::vector<double>{5});
  EXPECT_EQ(two.find("a", 1)->rows(), std::vector<std::string>{"Z\xc3\xbc"});
  EXPECT_EQ(two.find("bc", 1)->doubles(), std::vector<double>{5});
  EXPECT_EQ(two.find("d"), nullptr);
  EXPECT_EQ(two.find("a", 2), nullptr);
}

TEST_F(Weights, MatNamesAreDotted) {
  const std::string number = matrix(kDouble, {1, 1}, "", small(2, "\x05"));
  const std::string cell = matrix(kCell, {1, 2}, "", number + number);
  const std::string names =
      small(5, le(std::int32_t{4})) + element(1, std::string("w\0\0\0t\0\0\0", 8));
  const std::string text = matrix(kChar, {1, 1}, "", small(4, le(std::uint16_t{'x'})));
  const std::string one = matrix(kStruct, {1, 1}, "net", names + cell + text);
  const std::string many = matrix(kStruct, {1, 2}, "s", names + number + text + number + text);
  // An object of MATLAB's newer kind and a function handle are skipped.
  const std::string opaque = element(
      14, element(6, le(std::uint32_t{17}) + le(std::uint32_t{0})) + element(1, "o") + "garbage!");
  const std::string handle = matrix(16, {1, 1}, "f", number);
  const std::string plain = header() + one + many + opaque + handle;
  const std::string packed =
      header() + compressed(one) + compressed(many) + compressed(opaque) + compressed(handle);
  for (const std::string& content : {plain, packed}) {
    const TensorFile mat = TensorFile::open(write("x.mat", content));
    EXPECT_EQ(mat.format(), WeightFormat::matlab);
    EXPECT_EQ(mat.names(), (std::vector<std::string>{"net.w.0", "net.w.1", "s.0.w", "s.1.w"}));
    EXPECT_EQ(mat.at("s.1.w").doubles(), std::vector<double>{5});
  }
}

TEST_F(Weights, MatFilesThatAreRefused) {
  const auto refused = [&](const std::string& content, const std::string& words) {
    expect_open_error(write("x.mat", content), words);
  };
  const std::string number = matrix(kDouble, {1, 1}, "x", small(2, "\x05"));
  refused(header(0x100, "MI"), "big-endian");
  refused(header(0x200), "7.3");
  refused("MATLAB 7.3 MAT-file" + std::string(600, ' '), "HDF5");
  refused("MATLAB 5.0 MAT-file", "cut short");
  refused(header(), "no numeric array");
  refused(header() + number + number, "twice");
  refused(header() + matrix(kDouble | kComplex, {1, 1}, "x", small(2, "\x05") + small(2, "\x01")),
          "complex");
  refused(header() + matrix(kDouble, {1, 2}, "x", small(2, "\x05")), "do not fit");
  refused(header() + matrix(kDouble, {-1, -1}, "x", small(2, "\x05")), "dimensions");
  refused(header() + matrix(kDouble, {INT32_MAX, INT32_MAX, INT32_MAX}, "x", small(2, "\x05")),
          "dimensions");
  refused(header() + matrix(kCell, {INT32_MAX, 1}, "x", ""), "cut short");
  refused(header() + matrix(kStruct,
                            {INT32_MAX, 1},
                            "x",
                            small(5, le(std::int32_t{2})) + small(1, std::string("a\0", 2))),
          "cut short");
  refused(header() + matrix(kInt8, {1, 1}, "x", element(9, le(1.0))), "reals");
  std::string deep = number;
  for (int i = 0; i < 100; ++i) deep = matrix(kCell, {1, 1}, "x", deep);
  refused(header() + deep, "nested");
  std::string damaged = header() + compressed(number);
  damaged[damaged.size() - 1] ^= 1;
  refused(damaged, "damaged");
  // A bomb says its size in its tag; more than deflate can do is refused before it is unpacked.
  const std::string bomb = le(std::uint32_t{14}) + le(std::uint32_t{0xfffffff0});
  refused(header() + compressed(bomb), "contradict");
}

}  // namespace
}  // namespace ria::weights_test
