// SPDX-License-Identifier: MIT
#include "tensor/npy.h"

#include <string>
#include <vector>

#include "support/weights_fixture.h"

namespace ria::weights_test {
namespace {

TEST_F(Weights, NpyRoundTrip) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  write_npy(file("a.npy"), values.data(), 2, 3);
  EXPECT_EQ(read_text(file("a.npy")).size(), 128u + 24u);
  const Tensor tensor = read_npy(file("a.npy"));
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(tensor.floats(), values);
  const std::string whole = read_text(file("a.npy"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const fs::path part = write("part.npy", whole.substr(0, size));
    expect_error([&] { read_npy(part); }, part.string(), "");
  }
}

std::string npy(int version, const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY";
  out += {static_cast<char>(version), 0, static_cast<char>(header.size()), 0};
  if (version > 1) out += {0, 0};
  return out + header + data;
}

TEST_F(Weights, NpyOrdersAndTypes) {
  const auto read = [&](int version, const std::string& header, const std::string& data) {
    return read_npy(write("x.npy", npy(version, header, data)));
  };
  const Tensor fortran = read(2,
                              "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n",
                              "\x01\x02\x03\x04\x05\x06");
  EXPECT_EQ(fortran.doubles(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  const Tensor big = read(3,
                          "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}",
                          std::string("\0\x01\xff\xfe", 4));
  EXPECT_EQ(big.doubles(), (std::vector<double>{1, -2}));
  const Tensor wide =
      read(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "\xff\xff");
  EXPECT_EQ(wide.dtype, DType::I32);
  EXPECT_EQ(wide.doubles(), (std::vector<double>{65535}));
  EXPECT_EQ(read(1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\x01").size(), 1);
  EXPECT_THROW(read(1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "1"),
               std::runtime_error);
  EXPECT_THROW(read(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "1234"),
               std::runtime_error);
  EXPECT_THROW(
      read(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", ""),
      std::runtime_error);
  EXPECT_THROW(read(1, "{'descr': '<f4', 'shape': (1,)}", "1234"), std::runtime_error);
}

}  // namespace
}  // namespace ria::weights_test
