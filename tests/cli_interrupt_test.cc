// SPDX-License-Identifier: MIT
// `ria` stopped in the middle.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/cli_fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

class InterruptTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) GTEST_SKIP() << "this machine has no pseudo-terminals";
    ::close(terminal);
    pictures("pictures", kPictures);
    at_.terminal = true;
  }

  Args describe(const std::string& name, const std::string& longest_side) const {
    return {"describe",
            "pictures",
            "--out",
            name,
            "--method",
            "rootsift-ria",
            "--longest_side",
            longest_side};
  }

  /// Whether x.npy and its companions are those of a run that nobody disturbed.
  void expect_undisturbed(const std::string& longest_side) {
    EXPECT_EQ(unfinished(), 0);
    at_.terminal = false;
    works(describe("calm.npy", longest_side));
    for (const std::string ending : {".npy", ".names.txt", ".json"}) {
      const std::string calm = read_text(folder_ / ("calm" + ending));
      EXPECT_FALSE(calm.empty());
      EXPECT_TRUE(read_text(folder_ / ("x" + ending)) == calm) << ending;
    }
  }

  static constexpr int kPictures = 150;
  const Args kOneThread = {"--num_threads", "1"};  // slow enough to be caught in the middle
};

TEST_F(InterruptTest, CtrlCStopsCleanlyAndTheNextRunGoesOn) {
  const auto before = contents();
  Program program(kProgram, describe("x.npy", "320") + kOneThread, at_);
  ASSERT_TRUE(program.wait_for("describing "));
  program.send(SIGINT);
  const Result result = program.wait();
  EXPECT_EQ(result.exit_code, 130);
  const std::string last = lines(result.err).back();
  int done = 0, total = 0;
  const std::size_t at = last.find("ria: interrupted");
  ASSERT_NE(at, last.npos) << result.err;
  ASSERT_EQ(std::sscanf(last.c_str() + at, "ria: interrupted after %d of %d", &done, &total), 2);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, total);
  EXPECT_EQ(total, kPictures);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(unfinished(), 1);
  // Half a record at the end, as a crash leaves it, does no harm.
  for (const auto& entry : fs::directory_iterator(cache_ / "unfinished")) {
    std::ofstream(entry.path(), std::ios::app | std::ios::binary) << "half a record";
  }
  Program again(kProgram, describe("x.npy", "320") + kOneThread, at_);
  ASSERT_TRUE(again.wait_for("describing "));
  const Result resumed = again.wait();
  EXPECT_EQ(resumed.exit_code, 0);
  const std::string& shown = resumed.err;
  int first = 0;
  std::sscanf(shown.c_str() + shown.find("describing "), "describing %d/", &first);
  EXPECT_GT(first, done);  // went on, did not start over
  expect_undisturbed("320");
}

TEST_F(InterruptTest, KilledRunDoesNoDamage) {
  const auto before = contents();
  Program program(kProgram, describe("x.npy", "520") + kOneThread, at_);
  for (int i = 0; i < 200 && unfinished() == 0 && !program.ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (program.ended()) GTEST_SKIP() << "the run ended before anything was kept: too fast to kill";
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().exit_code, 128 + SIGKILL);
  EXPECT_EQ(unfinished(), 1);
  EXPECT_EQ(contents(), before);
  at_.terminal = false;
  works(describe("x.npy", "520"));
  expect_undisturbed("520");
}

}  // namespace
}  // namespace ria::cli_test
