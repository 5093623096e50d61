// SPDX-License-Identifier: MIT
// Tensors of every type, and the safetensors files that hold them.
#include "tensor/safetensors.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "support/weights_fixture.h"

namespace ria::weights_test {
namespace {

std::string safetensors(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

TEST_F(Weights, HalvesConvertExactly) {
  const Tensor half = make_tensor(
      DType::F16, {6}, {0x00, 0x3c, 0x01, 0x00, 0xff, 0x7b, 0x00, 0x80, 0x00, 0xfc, 0x01, 0x7e});
  const std::vector<float> values = half.floats();
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], std::ldexp(1.0f, -24));
  EXPECT_EQ(values[2], 65504.0f);
  EXPECT_TRUE(values[3] == 0 && std::signbit(values[3]));
  EXPECT_EQ(values[4], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(values[5]));
  const Tensor brain = make_tensor(DType::BF16, {2}, {0x80, 0x3f, 0x49, 0x40});
  EXPECT_EQ(brain.floats(), (std::vector<float>{1.0f, 3.140625f}));
}

TEST_F(Weights, IntegersAndTruth) {
  EXPECT_EQ(make_tensor(DType::I8, {2}, {0xff, 2}).doubles(), (std::vector<double>{-1, 2}));
  EXPECT_EQ(make_tensor(DType::U8, {2}, {0xff, 2}).doubles(), (std::vector<double>{255, 2}));
  EXPECT_EQ(make_tensor(DType::BOOL, {2}, {0xff, 0}).doubles(), (std::vector<double>{1, 0}));
  EXPECT_EQ(make_tensor(DType::I16, {1}, {0xfe, 0xff}).floats(), (std::vector<float>{-2}));
  EXPECT_THROW(make_tensor(DType::F32, {2}, {0}), std::invalid_argument);
}

TEST_F(Weights, SafetensorsRoundTripIsDeterministic) {
  const Metadata metadata{{"note", "x"}};
  write_safetensors(file("a"), sample_tensors(), metadata);
  write_safetensors(file("b"), sample_tensors(), metadata);
  EXPECT_EQ(read_text(file("a")), read_text(file("b")));
  const TensorFile back = TensorFile::open(file("a"));
  EXPECT_EQ(back.format(), WeightFormat::safetensors);
  EXPECT_TRUE(same_tensors(back.tensors(), sample_tensors()));
  EXPECT_EQ(back.metadata(), metadata);
  expect_error([&] { back.at("nope"); }, file("a").string(), "nope");
  for (const auto& [name, tensor] : back.tensors()) {
    if (tensor.bytes.empty()) continue;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % item_size(tensor.dtype), 0u);
  }
}

TEST_F(Weights, TruncatedSafetensorsNeverLoads) {
  write_safetensors(file("whole"), sample_tensors());
  const std::string whole = read_text(file("whole"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    expect_open_error(write("part", whole.substr(0, size)), "");
  }
  expect_open_error(write("more", whole + "x"), "bytes");
}

TEST_F(Weights, DamagedSafetensorsNeverCrashes) {
  write_safetensors(file("whole"), sample_tensors());
  const std::string whole = read_text(file("whole"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        for (const auto& [name, tensor] : open_bytes(damaged).tensors()) tensor.floats();
      } catch (const std::runtime_error&) {
      }
    }
  }
}

TEST_F(Weights, WrongSafetensorsHeaders) {
  std::string huge = safetensors("{}");
  huge[0] = 0;
  huge[7] = static_cast<char>(0x80);
  expect_open_error(write("huge", huge), "9223372036854775808");
  const auto refused = [&](const std::string& header, const std::string& data, const char* words) {
    expect_open_error(write("x", safetensors(header, data)), words);
  };
  refused("{]", "", "JSON");
  refused(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "1234", "dtype");
  refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234", "shape");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234", "do not match");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234", "outside");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "1234", "outside");
  refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4,4],"data_offsets":[0,4]}})",
          "1234",
          "do not match");
  refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          "123456",
          "overlaps");
  refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "1234", "hole");
  refused(R"({"__metadata__":{"a":1}})", "", "__metadata__");
  refused(R"({"a\nb":1})", "", "entry");
  expect_open_error(write("text", "hello, this is no weight file"), "expected");
  expect_open_error(write("empty", ""), "expected");
  expect_open_error(folder_, "folder");
  expect_open_error(file("absent"), "No such file");
}

}  // namespace
}  // namespace ria::weights_test
