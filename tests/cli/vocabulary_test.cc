// SPDX-License-Identifier: MIT
// `ria vocabulary`.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

class CliVocabularyTest : public CliTest {
 protected:
  static Args to(const std::string& out, const Args& more) {
    return Args{"vocabulary", "build", "pictures", "--out", out} + more;
  }
  static Args build(const std::string& out, const Args& more = {}) {
    return to(out, kFast + Args{"--clusters", "8"} + more);
  }
  std::string bytes(const std::string& name) const { return read_text(folder_ / name); }
};

TEST_F(CliVocabularyTest, BuildsTheSameBitsAndTellsHow) {
  pictures();
  const std::string said = works(build("v.safetensors"));
  EXPECT_TRUE(said.starts_with("v.safetensors: 8 centres of 128 values from ")) << said;
  EXPECT_NE(said.find("converged after "), said.npos) << said;
  works(build("again.safetensors"));
  works(build("one.safetensors", {"--num_threads", "1"}));
  works(build("two.safetensors", {"--num_threads", "2"}));
  for (const char* name : {"again.safetensors", "one.safetensors", "two.safetensors"}) {
    EXPECT_TRUE(bytes(name) == bytes("v.safetensors")) << name;
  }
  works(build("other.safetensors", {"--seed", "7"}));
  EXPECT_FALSE(bytes("other.safetensors") == bytes("v.safetensors"));
  EXPECT_EQ(read_vocabulary((folder_ / "v.safetensors").string(), 128).rows(), 8);
  EXPECT_EQ(unfinished(), 0);
  const std::string info = works({"vocabulary", "info", "v.safetensors"});
  for (const char* part : {"v.safetensors",
                           "clusters           8",
                           "dim                128",
                           "empty clusters     0",
                           "rootsift-gem",
                           "\"longest_side\":64",
                           RIA_VERSION,
                           "seed               42"}) {
    EXPECT_NE(info.find(part), info.npos) << part << " is not in\n" << info;
  }
}

TEST_F(CliVocabularyTest, ASmallBoundDrawsPatches) {
  pictures("pictures", 40);
  const std::string said = works(build("v.safetensors", {"--max_memory", "16MB"}));
  const std::string all = works(build("all.safetensors", {"--max_memory", "1.5GiB"}));
  EXPECT_EQ(all.find("a picture"), all.npos) << all;
  int used = 0, of = 0;
  ASSERT_EQ(std::sscanf(said.c_str() + said.find("from "), "from %d of %d patches", &used, &of), 2);
  EXPECT_LT(used, of);
  EXPECT_NE(said.find(" a picture\n"), said.npos) << said;
}

TEST_F(CliVocabularyTest, ABadPictureIsSkipped) {
  pictures();
  spill(folder_ / "pictures" / "broken.png", "no picture");
  const Result result = ria(build("v.safetensors"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("broken.png"), result.err.npos) << result.err;
  EXPECT_NE(result.err.find("1 of 5 pictures were skipped"), result.err.npos) << result.err;
}

TEST_F(CliVocabularyTest, WrongInputIsRefused) {
  pictures();
  const auto with = [](const Args& more) { return build("v.safetensors", more); };
  const auto clusters = [](const std::string& count) {
    return to("v.safetensors", kFast + Args{"--clusters", count});
  };
  refused(1, Args{"vocabulary", "build", "nowhere", "--out", "v.safetensors"} + kFast, {"nowhere"});
  refused(2, clusters("0"), {"clusters is 0"});
  refused(2, clusters("1000001"), {"clusters is 1000001"});
  refused(2, clusters("20000"), {"clusters is 20000", "number of patches"});
  refused(2, to("v.safetensors", {"--method", "telepathy"}), {"telepathy"});
  refused(2, with({"--max_iterations", "0"}), {"max_iterations is 0"});
  refused(1, build("nowhere/v.safetensors"), {"nowhere/v.safetensors"});
  refused(2, build("v.npy"), {"v.npy", ".safetensors"});
  for (const std::string size : {"much", "2XB", "-1GB", "GB", "0", "1e30TB", "2GBs", "2iB"}) {
    refused(2, with({"--max_memory", size}), {"--max_memory", size});
  }
  refused(2, with({"--max_memory", "1MB"}), {"max_memory is 1000000 bytes"});
  refused(2, {"vocabulary", "build", "pictures"}, {"--out"});
}

TEST_F(CliVocabularyTest, FilesThatAreNoVocabularyAreRefused) {
  pictures();
  spill(folder_ / "text.pt", "no centres");
  for (const std::string name :
       {"text.pt", "nowhere.safetensors", "nowhere", "pictures/p000.png"}) {
    refused(1, {"vocabulary", "info", name}, {name});
  }
}

TEST_F(CliVocabularyTest, CtrlCStopsCleanlyAndTheNextRunGoesOn) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this machine has no pseudo-terminals";
  ::close(terminal);
  pictures("pictures", 150);
  at_.terminal = true;
  const auto before = contents();
  const Args how = {"--method", "rootsift-gem", "--longest_side", "320", "--max_memory", "20MB"};
  const Args slow = to("x.safetensors", how + Args{"--num_threads", "1"});
  Program program(kProgram, slow, at_);
  ASSERT_TRUE(program.wait_for("describing "));
  program.send(SIGINT);
  const Result result = program.wait();
  EXPECT_EQ(result.exit_code, 130);
  int done = 0, total = 0;
  const std::size_t at = result.err.find("ria: interrupted");
  ASSERT_NE(at, result.err.npos) << result.err;
  ASSERT_EQ(std::sscanf(result.err.c_str() + at, "ria: interrupted after %d of %d", &done, &total),
            2);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 150);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(unfinished(), 1);
  Program again(kProgram, slow, at_);
  ASSERT_TRUE(again.wait_for("describing "));
  const Result resumed = again.wait();
  EXPECT_EQ(resumed.exit_code, 0);
  int first = 0;
  std::sscanf(resumed.err.c_str() + resumed.err.find("describing "), "describing %d/", &first);
  EXPECT_GT(first, done);  // went on, did not start over
  EXPECT_EQ(unfinished(), 0);
  at_.terminal = false;
  const std::string calm = works(to("calm.safetensors", how));
  EXPECT_NE(calm.find("a picture"), calm.npos) << calm;  // patches were drawn
  EXPECT_TRUE(bytes("x.safetensors") == bytes("calm.safetensors"));
}

}  // namespace
}  // namespace ria::cli_test
