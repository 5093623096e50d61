// SPDX-License-Identifier: MIT
// Files of torch.save: the archive and the pickle in it.
#include <cstdint>
#include <string>

#include "golden/golden.h"
#include "weights/pickle.h"
#include "weights_fixture.h"

namespace ria::weights_test {
namespace {

using Kind = PickleValue::Kind;

TEST_F(Weights, DamagedTorchArchiveNeverCrashes) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  for (const char* name : {"nested_everything_zip.pth", "shared_storage_views_zip.pth"}) {
    const fs::path source = golden_dir() / "checkpoint_formats" / name;
    const std::string whole = read_text(source);
    const TensorMap tensors = TensorFile::open(source).tensors();
    for (int percent = 0; percent < 100; ++percent) {
      SCOPED_TRACE(percent);
      const fs::path part = write("part", whole.substr(0, whole.size() * percent / 100));
      try {
        EXPECT_TRUE(same_tensors(TensorFile::open(part).tensors(), tensors));
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find(part.string()), std::string::npos);
      }
    }
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      try {
        for (const auto& [key, tensor] : TensorFile::open(write("part", damaged)).tensors()) {
          tensor.doubles();
        }
      } catch (const std::runtime_error&) {
      }
    }
  }
}

Pickle parse(const std::string& text) {
  return Pickle::parse({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "pkl");
}

TEST_F(Weights, PickledCallIsInert) {
  const fs::path witness = file("witness");
  const std::string command = "touch " + witness.string();
  std::string pickle =
      "\x80\x02"
      "cos\nsystem\nX";
  pickle += std::string{static_cast<char>(command.size()), 0, 0, 0} + command + "\x85R.";
  const Pickle inert = parse(pickle);
  EXPECT_EQ(inert.root().kind, Kind::opaque);
  EXPECT_EQ(inert.root().text, "os system");
  EXPECT_TRUE(inert.root().items.empty());
  EXPECT_FALSE(fs::exists(witness));
}

TEST_F(Weights, PickleLimits) {
  EXPECT_THROW(parse(""), std::runtime_error);
  EXPECT_THROW(parse("."), std::runtime_error);
  EXPECT_THROW(parse("h\x07."), std::runtime_error);
  EXPECT_THROW(parse("R."), std::runtime_error);
  EXPECT_THROW(parse("\x80\x05N."), std::runtime_error);
  EXPECT_THROW(parse("t."), std::runtime_error);
  EXPECT_THROW(parse("(."), std::runtime_error);
  EXPECT_THROW(parse("NNs."), std::runtime_error);
  EXPECT_THROW(parse(std::string("X\xff\xff\xff\x7f"
                                 "ab.")),
               std::runtime_error);
  EXPECT_THROW(parse(std::string("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
                                 "ab.")),
               std::runtime_error);
  EXPECT_THROW(parse(std::string(100'000, '(') + "."), std::runtime_error);
  // A million nested tuples and a list inside itself must be freed without recursion.
  EXPECT_EQ(parse(")" + std::string(1'000'000, '\x85') + ".").root().kind, Kind::tuple);
  EXPECT_EQ(parse(std::string("]q\0h\0a.", 7)).root().items.size(), 1u);
}

TEST_F(Weights, PickleScalars) {
  const Pickle pickle =
      parse(std::string("(J\xf9\xff\xff\xff\x8a\x01\x80\x8a\x00G\x3f\xf8\0\0\0\0\0\0"
                        "\x88N\x8a\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09t.",
                        35));
  const auto& items = pickle.root().items;
  ASSERT_EQ(items.size(), 7u);
  EXPECT_EQ(items[0]->integer, -7);
  EXPECT_EQ(items[1]->integer, -128);
  EXPECT_EQ(items[2]->integer, 0);
  EXPECT_EQ(items[3]->number, 1.5);
  EXPECT_EQ(items[4]->kind, Kind::boolean);
  EXPECT_EQ(items[5]->kind, Kind::none);
  EXPECT_EQ(items[6]->kind, Kind::big_integer);
}

}  // namespace
}  // namespace ria::weights_test
