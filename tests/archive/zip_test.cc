// SPDX-License-Identifier: MIT
// Zip archives built by hand: stored, deflated, zip64.
#include "archive/zip.h"

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/weights_fixture.h"

namespace ria::weights_test {
namespace {

template <typename T>
std::string le(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::uint32_t checksum(const std::string& text) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

std::string deflated(const std::string& text) {
  z_stream stream{};
  ::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

struct Member {
  std::string name;
  std::string content;
  bool deflate = false;
  std::uint64_t claimed_size = UINT64_MAX;  // the true one
};

/// As zip64 writers do: 32-bit fields are all ones, the sizes stand in extra fields.
std::string zip(const std::vector<Member>& members, bool zip64) {
  std::string out;
  std::string directory;
  for (const Member& member : members) {
    const std::string packed = member.deflate ? deflated(member.content) : member.content;
    const std::uint64_t size =
        member.claimed_size != UINT64_MAX ? member.claimed_size : member.content.size();
    const std::uint64_t offset = out.size();
    const auto narrow = [&](std::uint64_t value) {
      return le(zip64 ? UINT32_MAX : static_cast<std::uint32_t>(value));
    };
    const std::string sizes = le<std::uint64_t>(size) + le<std::uint64_t>(packed.size());
    const std::string local_extra =
        zip64 ? le<std::uint16_t>(1) + le<std::uint16_t>(16) + sizes : "";
    // Another extra field first: the reader must look for the right one.
    const std::string extra = zip64 ? le<std::uint16_t>(0x5455) + le<std::uint16_t>(1) + "x" +
                                          le<std::uint16_t>(1) + le<std::uint16_t>(24) + sizes +
                                          le(offset)
                                    : "";
    const std::string common = le<std::uint16_t>(0) + le<std::uint16_t>(member.deflate ? 8 : 0) +
                               le<std::uint32_t>(0) + le(checksum(member.content)) +
                               narrow(packed.size()) + narrow(size) +
                               le(static_cast<std::uint16_t>(member.name.size()));
    out += "PK\x03\x04" + le<std::uint16_t>(45) + common +
           le(static_cast<std::uint16_t>(local_extra.size())) + member.name + local_extra + packed;
    directory += "PK\x01\x02" + le<std::uint16_t>(45) + le<std::uint16_t>(45) + common +
                 le(static_cast<std::uint16_t>(extra.size())) + std::string(2 + 2 + 2 + 4, '\0') +
                 narrow(offset) + member.name + extra;
  }
  const std::uint64_t start = out.size();
  const std::uint64_t count = members.size();
  const std::uint64_t directory_size = directory.size();
  out += directory;
  if (zip64) {
    const std::uint64_t end = out.size();
    out += "PK\x06\x06" + le<std::uint64_t>(44) + le<std::uint16_t>(45) + le<std::uint16_t>(45) +
           std::string(8, '\0') + le(count) + le(count) + le(directory_size) + le(start);
    out += "PK\x06\x07" + le<std::uint32_t>(0) + le(end) + le<std::uint32_t>(1);
    return out + "PK\x05\x06" + std::string(4, '\0') + le<std::uint16_t>(0xffff) +
           le<std::uint16_t>(0xffff) + le(UINT32_MAX) + le(UINT32_MAX) + std::string(2, '\0');
  }
  return out + "PK\x05\x06" + std::string(4, '\0') + le(static_cast<std::uint16_t>(count)) +
         le(static_cast<std::uint16_t>(count)) + le(static_cast<std::uint32_t>(directory_size)) +
         le(static_cast<std::uint32_t>(start)) + std::string(2, '\0');
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  return std::string("\x93NUMPY\x01\x00", 8) + le(static_cast<std::uint16_t>(header.size())) +
         header + data;
}

const std::string kNumbers = npy("<i4", "(2,)", le<std::int32_t>(7) + le<std::int32_t>(-8));

TEST_F(Weights, NpzStoredDeflatedAndZip64) {
  for (const bool zip64 : {false, true}) {
    for (const bool deflate : {false, true}) {
      SCOPED_TRACE(testing::Message() << zip64 << deflate);
      const TensorFile npz = TensorFile::open(
          write("x.npz",
                zip({{"a.npy", kNumbers, deflate}, {"text.npy", npy("<U1", "(0,)", ""), deflate}},
                    zip64)));
      EXPECT_EQ(npz.format(), WeightFormat::npz);
      EXPECT_EQ(npz.names(), std::vector<std::string>{"a"});
      EXPECT_EQ(npz.at("a").doubles(), (std::vector<double>{7, -8}));
    }
  }
}

TEST_F(Weights, TorchArchiveInZip64) {
  const std::string pickle =
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n((X\x07" +
      std::string(3, '\0') + "storagectorch\nFloatStorage\nX\x01" + std::string(3, '\0') +
      "0X\x03" + std::string(3, '\0') + "cpuK\x01tQK" + std::string(1, '\0') + "))\x89}tR.";
  const std::string whole =
      zip({{"m/data.pkl", pickle}, {"m/data/0", le(2.5f)}, {"m/version", "3\n"}}, true);
  const TensorFile file = TensorFile::open(write("x.pth", whole));
  EXPECT_EQ(file.format(), WeightFormat::torch);
  EXPECT_EQ(file.at("tensor").floats(), std::vector<float>{2.5f});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_error([&] { open_bytes(whole.substr(0, size)); }, "in_memory", "");
  }
  // Every bit of the zip64 records matters or changes nothing.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    try {
      for (const auto& [name, tensor] : open_bytes(damaged).tensors()) EXPECT_LE(tensor.size(), 1);
    } catch (const std::runtime_error&) {
    }
  }
  expect_open_error(
      write("x.pth", zip({{"m/data.pkl", pickle, true}, {"m/data/0", le(2.5f)}}, false)),
      "compressed");
}

TEST_F(Weights, DamagedZipMembersAreNamed) {
  std::string damaged = zip({{"a.npy", kNumbers}}, false);
  damaged[damaged.find("'<i4'") + 20] ^= 1;
  expect_open_error(write("x.npz", damaged), "checksum");
  Member liar{"a.npy", kNumbers, true, kNumbers.size() - 1};
  expect_open_error(write("x.npz", zip({liar}, false)), "a.npy");
  liar.claimed_size = kNumbers.size() + 1;
  expect_open_error(write("x.npz", zip({liar}, false)), "a.npy");
  liar.claimed_size = UINT64_MAX - 1;
  expect_open_error(write("x.npz", zip({liar}, true)), "contradict");
  expect_open_error(write("x.npz", zip({{"a.npy", kNumbers}, {"a.npy", kNumbers}}, false)),
                    "twice");
  expect_open_error(write("x.zip", zip({{"readme", "x"}}, false)), "neither");
}

TEST_F(Weights, InflatingStopsAtTheBudget) {
  const std::string zeros(100'000, '\0');
  const std::string packed = deflated(zeros);
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(packed.data()),
                                            packed.size());
  InflateBudget enough(0);
  EXPECT_EQ(inflate_whole("f", "x", bytes, zeros.size(), DeflateForm::raw, enough).size(),
            zeros.size());
  InflateBudget spent(0);
  EXPECT_TRUE(spent.take(std::uint64_t{1} << 30));
  EXPECT_THROW(inflate_whole("f", "x", bytes, zeros.size(), DeflateForm::raw, spent),
               std::runtime_error);
}

}  // namespace
}  // namespace ria::weights_test
