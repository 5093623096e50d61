// SPDX-License-Identifier: MIT
#include "archive/pickle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "archive/pickle_calls.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

Pickle parse(const std::string& text) {
  return Pickle::parse({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "pkl");
}

std::string text(const std::string& value) {
  return 'X' + std::string{static_cast<char>(value.size()), 0, 0, 0} + value;
}

TEST(Pickle, CallIsNeitherRunNorRead) {
  const TemporaryFolder folder;
  const std::string command = text("touch " + (folder / "witness").string());
  // REDUCE, NEWOBJ, NEWOBJ_EX, OBJ, INST; STACK_GLOBAL and protocol 0
  for (const std::string& program :
       {"cos\nsystem\n" + command + "\x85R.",
        "cos\nsystem\n" + command + "\x85\x81.",
        "cos\nsystem\n" + command + "\x85}\x92.",
        "(cos\nsystem\n" + command + "o.",
        "(" + command + "ios\nsystem\n.",
        text("os") + text("system") + "\x93" + command + "\x85R.",
        std::string("cos\nsystem\np0\n(S'true'\np1\ntp2\nR."),
        // hidden in an object that is skipped
        "cargparse\nNamespace\n)\x81(cos\nsystem\n" + command + "\x85Rtb."}) {
    EXPECT_EQ(message_of([&] { parse(program); }),
              "cannot read pkl: its pickle calls os.system; nothing in a pickle is ever run");
  }
  EXPECT_FALSE(fs::exists(folder / "witness"));
}

TEST(Pickle, RuleOfCalls) {
  for (const char* global : {"posix system",
                             "nt system",
                             "os popen",
                             "os.path join",
                             "subprocess Popen",
                             "builtins eval",
                             "builtins exec",
                             "builtins getattr",
                             "__builtin__ apply",
                             "builtins __import__",
                             "builtins open",
                             "io open",
                             "_io FileIO",
                             "importlib import_module",
                             "importlib.util spec_from_file_location",
                             "operator attrgetter",
                             "_operator methodcaller",
                             "functools partial",
                             "types FunctionType",
                             "torch load",
                             "torch.hub load",
                             "torch hub.load",
                             "torch.serialization load",
                             "numpy load",
                             "numpy.testing._private.utils runstring",
                             "pickle loads",
                             "webbrowser open",
                             "ctypes CDLL"}) {
    EXPECT_EQ(classify_call(global), PickleCall::forbidden) << global;
  }
  for (const char* global : {"argparse Namespace",
                             "collections Counter",
                             "builtins set",
                             "__builtin__ long",
                             "io BytesIO",
                             "types SimpleNamespace",
                             "pathlib PosixPath",
                             "datetime datetime",
                             "copyreg _reconstructor",
                             "omegaconf.dictconfig DictConfig",
                             "pytorch_lightning.utilities.parsing AttributeDict",
                             "pytorch_lightning.callbacks.model_checkpoint ModelCheckpoint",
                             "torch device",
                             "torch.optim.adam Adam",
                             "oss thing",
                             "codec x"}) {
    EXPECT_EQ(classify_call(global), PickleCall::foreign) << global;
  }
  EXPECT_EQ(classify_call("collections OrderedDict"), PickleCall::dictionary);
  EXPECT_EQ(classify_call("torch._utils _rebuild_tensor_v2"), PickleCall::rebuilder);
  EXPECT_EQ(classify_call("_codecs encode"), PickleCall::encoder);
}

TEST(Pickle, UnknownObjectsAreOpaque) {
  const Pickle pickle = parse("cargparse\nNamespace\n)\x81}" + text("x") + "K\x01sb.");
  EXPECT_EQ(pickle.root().kind, Kind::opaque);
  EXPECT_EQ(pickle.root().items[0]->text, "argparse Namespace");
}

TEST(Pickle, SizeIsWhereTheNextBegins) {
  const std::string first = "\x80\x02K\x07.";
  const Pickle pickle = parse(first + "\x80\x02K\x08.");
  EXPECT_EQ(pickle.size(), first.size());
  EXPECT_EQ(pickle.root().integer, 7);
}

TEST(Pickle, EncodedBytes) {
  const Pickle pickle =
      parse("c_codecs\nencode\n" + text("a\xc3\xbf\xc2\x80") + text("latin1") + "\x86R.");
  EXPECT_EQ(pickle.root().kind, Kind::bytes);
  EXPECT_EQ(pickle.root().text, "a\xff\x80");
  EXPECT_THROW(parse("c_codecs\nencode\n" + text("\xe2\x82\xac") + text("latin1") + "\x86R."),
               std::runtime_error);
}

TEST(Pickle, Protocol0) {
  const Pickle pickle = parse("(lp0\nI7\naI01\naL-8L\naF1.5\naS'ab'\naVcd\nag0\na.");
  const auto& items = pickle.root().items;
  ASSERT_EQ(items.size(), 7u);
  EXPECT_EQ(items[0]->integer, 7);
  EXPECT_EQ(items[1]->kind, Kind::boolean);
  EXPECT_EQ(items[2]->integer, -8);
  EXPECT_EQ(items[3]->number, 1.5);
  EXPECT_EQ(items[4]->text, "ab");
  EXPECT_EQ(items[5]->text, "cd");
  EXPECT_EQ(items[6], &pickle.root());
  for (const char* bad : {"Ix\n.", "I\n.", "F1.5.2\n.", "S'\n.", "Sx\n.", "I1", "g7\n.", "p\n."}) {
    EXPECT_THROW(parse(bad), std::runtime_error) << bad;
  }
}

TEST(Pickle, Limits) {
  EXPECT_THROW(parse(""), std::runtime_error);
  EXPECT_THROW(parse("."), std::runtime_error);
  EXPECT_THROW(parse("h\x07."), std::runtime_error);
  EXPECT_THROW(parse("R."), std::runtime_error);
  EXPECT_THROW(parse("\x80\x06N."), std::runtime_error);
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

TEST(Pickle, Scalars) {
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
}  // namespace ria
