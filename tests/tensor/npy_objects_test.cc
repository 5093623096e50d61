// SPDX-License-Identifier: MIT
// NumPy arrays of text and of Python objects.
#include "tensor/npy_objects.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/weights_fixture.h"
#include "tensor/npy.h"

namespace ria::weights_test {
namespace {

using Integers = std::vector<std::int64_t>;

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         data;
}

std::string wide(const std::u32string& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size() * 4};
}

TEST_F(Weights, NpyText) {
  const auto read =
      [&](const std::string& descr, const std::string& shape, const std::string& data) {
        return read_npy_text(write("x.npy", npy(descr, shape, data)));
      };
  const TextArray text = read("<U3", "(2, 1)", wide({U'Z', U'ü', 0, U'京', U'😀', U'!'}));
  EXPECT_EQ(text.shape, (Integers{2, 1}));
  EXPECT_EQ(text.values, (std::vector<std::string>{"Zü", "京😀!"}));
  EXPECT_EQ(read(">U1", "(1,)", std::string("\0\0\0A", 4)).values, std::vector<std::string>{"A"});
  EXPECT_EQ(read("|S3", "(2,)", std::string("ab\0cde", 6)).values,
            (std::vector<std::string>{"ab", "cde"}));
  EXPECT_EQ(read("<U0", "(2,)", "").values, (std::vector<std::string>{"", ""}));
  // A code point that does not exist is replaced.
  EXPECT_EQ(read("<U1", "()", wide({0xd800})).values, std::vector<std::string>{"\xef\xbf\xbd"});
  EXPECT_THROW(read("<U3", "(2,)", "1234"), std::runtime_error);
  EXPECT_THROW(read("<U4611686018427387904", "(4,)", ""), std::runtime_error);
  EXPECT_THROW(read("<U0", "(1000000000000,)", ""), std::runtime_error);
  EXPECT_THROW(read("<f4", "(1,)", "1234"), std::runtime_error);
  EXPECT_THROW(read("<Ux", "(1,)", "1234"), std::runtime_error);
}

/// The array of the seed set: [[0, [0, 1, 2]], [numpy.int64(1), numpy.array([3, 70000])]].
fs::path seed(const std::string& name) {
  return fs::path(RIA_SOURCE_DIR) / "tests" / "fuzz" / "seeds" / "npy" / name;
}

TEST_F(Weights, NpyObjects) {
  const ObjectArray array = read_npy_objects(seed("objects.npy"));
  EXPECT_EQ(array.shape(), (Integers{2, 2}));
  EXPECT_EQ(array.size(), 4u);
  EXPECT_EQ(array.integer(0), 0);
  EXPECT_EQ(array.integers(1), (Integers{0, 1, 2}));
  EXPECT_EQ(array.integer(2), 1);
  EXPECT_EQ(array.integers(3), (Integers{3, 70000}));
  EXPECT_EQ(array.integers(0), Integers{0});
  const std::string file = seed("objects.npy").string();
  expect_error([&] { array.integer(1); }, file, "element 1 is not an integer");
  expect_error([&] { array.text(0); }, file, "element 0 is not a string");
  EXPECT_THROW(array.integer(4), std::out_of_range);
  expect_open_error(seed("objects.npy"), "|O");
  expect_error([&] { read_npy_objects(seed("f4.npy")); }, "f4.npy", "objects");

  const ObjectArray mixed = read_npy_objects(seed("mixed.npy"));
  EXPECT_EQ(mixed.text(1), "yz");
  EXPECT_EQ(mixed.integers(2), (Integers{1, -2}));
  expect_error([&] { read_npy_text(seed("mixed.npy")); }, "mixed.npy", "element 2");
}

TEST_F(Weights, DamagedObjectsNeverCrash) {
  const std::vector<std::uint8_t> whole = read_bytes(seed("objects.npy"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::uint8_t> damaged = whole;
    damaged[at] ^= 0xff;
    try {
      const ObjectArray array = read_npy_objects("x.npy", damaged);
      for (std::size_t i = 0; i < array.size(); ++i) array.integers(i);
    } catch (const std::runtime_error&) {
    }
    const std::span<const std::uint8_t> part(whole.data(), at);
    expect_error([&] { read_npy_objects("part.npy", part); }, "part.npy", "");
  }
  const fs::path hostile = write(
      "x.npy", npy("|O", "(1,)", "cposix\nsystem\nX\x04" + std::string(3, '\0') + "true\x85R."));
  expect_error([&] { read_npy_objects(hostile); }, hostile.string(), "posix.system");
}

TEST_F(Weights, NpyAndNpzAreTensorFiles) {
  const TensorFile one = TensorFile::open(seed("fortran.npy"));
  EXPECT_EQ(one.format(), WeightFormat::npy);
  EXPECT_EQ(one.names(), std::vector<std::string>{"tensor"});
  EXPECT_EQ(one.at("tensor").doubles(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    EXPECT_EQ(TensorFile::open(seed(name)).at("a").doubles(), (std::vector<double>{0, 1, 2, 3}));
  }
}

}  // namespace
}  // namespace ria::weights_test
