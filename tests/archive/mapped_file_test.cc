// SPDX-License-Identifier: MIT
// Mapped bytes: shared, released, read again. Sharded models.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "archive/bytes.h"
#include "support/weights_fixture.h"
#include "tensor/safetensors.h"

namespace ria::weights_test {
namespace {

/// Resident pages of this process, in bytes.
std::size_t resident() {
  std::size_t total = 0;
  std::size_t pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu %zu", &total, &pages) != 2) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_F(Weights, ReleasedTensorLeavesMemoryAndComesBack) {
  constexpr std::int64_t kValues = 8 << 20;
  std::vector<float> values(kValues);
  for (std::int64_t i = 0; i < kValues; ++i) values[i] = static_cast<float>(i % 1000);
  write_safetensors(file("big"), {{"w", make_tensor({kValues}, values)}});
  const TensorFile big = TensorFile::open(file("big"));
  const Tensor& tensor = big.at("w");
  ASSERT_NE(tensor.mapped, nullptr);
  std::vector<float> back(kValues);
  tensor.copy_floats(back);
  const std::size_t before = resident();
  tensor.release();
  EXPECT_LT(resident() + kValues * 3, before) << "32 MB were to leave the memory";
  tensor.copy_floats(back);
  EXPECT_EQ(back, values);
  std::vector<float> wrong(3);
  EXPECT_THROW(tensor.copy_floats(wrong), std::invalid_argument);
}

TEST_F(Weights, ReleaseOfOtherBytesDoesNothing) {
  const std::vector<std::uint8_t> bytes(100'000, 7);
  const auto memory = MappedFile::from_memory(bytes);
  memory->release(memory->bytes());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory->bytes().begin()));
  const auto mapped = MappedFile::open(write("f", std::string(100'000, 'x')));
  mapped->release(bytes);
  mapped->release({});
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(100'000, 7));
  make_tensor({2}, {1, 2}).release();
}

TEST_F(Weights, EveryHalfConvertsAsDefined) {
  std::vector<std::uint8_t> bytes(2 * 65536);
  for (std::uint32_t code = 0; code < 65536; ++code) {
    bytes[2 * code] = static_cast<std::uint8_t>(code);
    bytes[2 * code + 1] = static_cast<std::uint8_t>(code >> 8);
  }
  const Tensor halves = make_tensor(DType::F16, {65536}, bytes);
  const std::vector<float> values = halves.floats();
  const std::vector<double> exact = halves.doubles();
  for (int code = 0; code < 65536; ++code) {
    const int exponent = (code >> 10) & 31;
    const int fraction = code & 1023;
    const double sign = code >= 32768 ? -1 : 1;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(values[code])) << code;
      continue;
    }
    const double expected = exponent == 31  ? std::numeric_limits<double>::infinity()
                            : exponent == 0 ? std::ldexp(fraction, -24)
                                            : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(values[code], sign * expected) << code;
    EXPECT_EQ(exact[code], sign * expected) << code;
    EXPECT_EQ(std::signbit(values[code]), sign < 0) << code;
  }
}

TEST_F(Weights, ShardedModel) {
  TensorMap all = sample_tensors();
  TensorMap first{{"a.weight", all.at("a.weight")}, {"unlisted", all.at("b.flag")}};
  TensorMap second = all;
  second.erase("a.weight");
  write_safetensors(file("m-1.safetensors"), first, {{"format", "pt"}});
  write_safetensors(file("m-2.safetensors"), second);
  std::string map = R"("a.weight": "m-1.safetensors")";
  for (const auto& [name, tensor] : second) map += ", \"" + name + "\": \"m-2.safetensors\"";
  const fs::path index = write("model.safetensors.index.json",
                               R"({"metadata": {"total_size": 1}, "weight_map": {)" + map + "}}");
  for (const fs::path& path : {index, folder_}) {
    const TensorFile model = TensorFile::open(path);
    EXPECT_EQ(model.format(), WeightFormat::safetensors);
    EXPECT_TRUE(same_tensors(model.tensors(), all));
    EXPECT_EQ(model.metadata(), (Metadata{{"format", "pt"}}));
  }
  fs::remove(file("m-2.safetensors"));
  expect_open_error(index, "m-2.safetensors");
}

TEST_F(Weights, FolderWithOneModel) {
  expect_open_error(folder_, "model.safetensors");
  write_safetensors(file("model.safetensors"), sample_tensors());
  EXPECT_TRUE(same_tensors(TensorFile::open(folder_).tensors(), sample_tensors()));
}

TEST_F(Weights, ShardNamesStayInTheirFolder) {
  fs::create_directories(file("inner"));
  write_safetensors(file("m.safetensors"), sample_tensors());
  const auto refused = [&](const std::string& weight_map, const std::string& words) {
    expect_open_error(write("inner/x.index.json", "{\"weight_map\": " + weight_map + "}"), words);
  };
  refused(R"({"a.weight": "../m.safetensors"})", "outside");
  refused("{\"a.weight\": \"" + file("m.safetensors").string() + "\"}", "outside");
  refused(R"({"a.weight": ".."})", "outside");
  refused(R"({"a.weight": ""})", "outside");
  refused(R"({"a.weight": "m\u0000.safetensors"})", "outside");
  refused(R"({"a.weight": 3})", "a.weight");
  refused(R"({"a.weight": "m.safetensors"})", "missing");
  refused("{}", "weight_map");
  refused("[]", "weight_map");
  write_safetensors(file("inner/m.safetensors"), sample_tensors());
  try {
    TensorFile::open(write("inner/x.index.json", R"({"weight_map": {"nope": "m.safetensors"}})"));
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("nope"), std::string::npos);
  }
}

}  // namespace
}  // namespace ria::weights_test
