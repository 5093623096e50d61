// SPDX-License-Identifier: MIT
// `ria` stopped in the middle.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/fixture.h"

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

/// Commands of every kind, ended by a signal at any moment.
class AnyCommandTest : public CliTest {
 protected:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  /// Seconds until it has ended.
  static double until_ended(Program& program) {
    const auto start = Clock::now();
    while (!program.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return seconds_since(start);
  }

  /// Before this a signal ends the program as it ends any: nothing has been done yet.
  static void await_start(Program& program) {
    while (!program.catches(SIGTERM) && !program.ended()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  /// Files that are nobody's in the cache: hidden ones and those on their way.
  Args strays() const {
    Args names;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(cache_, none)) {
      const fs::path& file = entry.path();
      const bool stray = file.filename().string().starts_with('.') || file.extension() == ".new";
      if (stray) names.push_back(file.string());
    }
    return names;
  }

  /// Sends a signal after so many seconds: the command ends soon, with one line, and leaves the
  /// working folder as it was. False if it had ended before.
  bool interrupted(const Args& args, double after, int signal_number) {
    SCOPED_TRACE(fmt::format(
        "ria {}: signal {} after {:.3f} s", fmt::join(args, " "), signal_number, after));
    const auto before = contents();
    Program program(kProgram, args, at_);
    await_start(program);
    std::this_thread::sleep_for(std::chrono::duration<double>(after));
    if (program.ended()) return false;
    program.send(signal_number);
    EXPECT_LT(until_ended(program), kSoon);
    const Result result = program.wait();
    if (result.exit_code == 0) return false;  // it was about to end
    EXPECT_EQ(result.exit_code, 130);
    const auto said = complaints(result.err);
    EXPECT_EQ(said.size(), 1u) << result.err;
    EXPECT_TRUE(!said.empty() && said[0].starts_with("ria: interrupted")) << result.err;
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(strays(), Args{});
    return true;
  }

  /// The same at an earlier moment, from a cold start, where the command had ended by then.
  void expect_interrupted(const Args& args, double after, int signal_number) {
    for (int tries = 0; tries < 6; ++tries, after /= 2) {
      if (interrupted(args, after, signal_number) || HasFailure()) return;
      fs::remove_all(cache_);
    }
    ADD_FAILURE() << "ria " << fmt::format("{}", fmt::join(args, " "))
                  << " ended before every signal";
  }

  /// A run nobody disturbs, then interrupted ones at random moments, then one to the end: the same
  /// files stand at the end of both.
  void interrupt_and_finish(const Args& args) {
    const auto before = contents();
    const auto timed = [](const auto& run) {
      const auto start = Clock::now();
      run();
      return seconds_since(start);
    };
    double whole = timed([&] { works(args); });
    const auto calm = contents();
    const auto start_over = [&] {
      for (const auto& [name, hash] : calm) {
        if (!before.contains(name)) fs::remove_all(folder_ / name);
      }
      fs::remove_all(cache_);
    };
    start_over();
    std::uniform_real_distribution<double> share(0.02, 0.9);
    int caught = 0;
    for (int tries = 0; caught < 3 && tries < 30; ++tries) {
      bool was_caught = false;
      const double lasted = timed([&] {
        was_caught = interrupted(args, share(random_) * whole, tries % 2 == 0 ? SIGINT : SIGTERM);
      });
      if (HasFailure()) return;
      caught += was_caught;
      if (was_caught) continue;
      whole = std::min(whole, lasted);  // the first run may have had to wait for the machine
      start_over();
    }
    EXPECT_EQ(caught, 3) << "ended before most signals";
    works(args);
    EXPECT_EQ(contents(), calm);
    EXPECT_EQ(unfinished(), 0);
    EXPECT_EQ(strays(), Args{});
  }

  /// A weight file of zeros that takes no room on the disk.
  std::string sparse_weights(const std::string& name, std::uint64_t values) const {
    std::string header = fmt::format(
        R"({{"t":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", values, 4 * values);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = header.size();
    std::ofstream out(folder_ / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header;
    out.close();
    fs::resize_file(folder_ / name, sizeof length + length + 4 * values);
    return name;
  }

  static constexpr double kSoon = 10;  // 2 s, and what a machine takes that has other things to do
  static constexpr std::uint64_t kHuge = 20'000'000'000;  // values: minutes to read
  const Args kSlow = {"--method", "rootsift-ria", "--longest_side", "240", "--num_threads", "1"};
  std::mt19937 random_{std::random_device{}()};
};

TEST_F(AnyCommandTest, IndexBuildGoesOn) {
  interrupt_and_finish(Args{"index", "build", pictures("pictures", 60), "--out", "x.ria"} + kSlow);
}

TEST_F(AnyCommandTest, IndexBuildWithPcaGoesOn) {
  interrupt_and_finish(Args{"index", "build", pictures("pictures", 60), "--out", "x.ria"} + kSlow +
                       Args{"--projection", "pca", "--pca", "8", "--rerank", "patches"});
}

TEST_F(AnyCommandTest, DescribeGoesOn) {
  interrupt_and_finish(Args{"describe", pictures("pictures", 60), "--out", "x.h5"} + kSlow);
}

TEST_F(AnyCommandTest, VocabularyBuildGoesOn) {
  interrupt_and_finish(
      Args{"vocabulary", "build", pictures("pictures", 24), "--out", "v.safetensors"} + kSlow +
      Args{"--clusters", "32", "--max_iterations", "20", "--tolerance", "0"});
}

TEST_F(AnyCommandTest, SimulateLeavesNothingHalf) {
  interrupt_and_finish(
      {"simulate", "street", "--places", "60", "--height", "96", "--width", "128"});
}

// What replaces older pictures leaves them as they were.
TEST_F(AnyCommandTest, SimulateKeepsWhatWasThere) {
  works({"simulate", "street", "--places", "3"});
  const auto before = contents();
  const Args again = {"simulate", "street", "--places", "5000"};
  for (const double after : {0.1, 0.7}) expect_interrupted(again, after, SIGTERM);
  EXPECT_EQ(contents(), before);
}

TEST_F(AnyCommandTest, QueryEndsSoon) {
  pictures("many", 200);
  const Args query = {"query", index({"--method", "rootsift-ria"}), "many"};
  for (const double after : {0.05, 0.6}) {
    expect_interrupted(query + Args{"--num_threads", "1"}, after, SIGINT);
  }
}

TEST_F(AnyCommandTest, EvalAndStudyEndSoonAndLeaveNoFolders) {
  works({"simulate", "street", "--places", "60"});
  const Args street = {
      "--database_folder", "street/database", "--queries_folder", "street/queries"};
  const Args eval = Args{"eval"} + street +
                    Args{"--log_dir", "runs", "--num_preds_to_save", "3", "--save_descriptors"} +
                    kSlow;
  for (const double after : {0.3, 1.5}) expect_interrupted(eval, after, SIGINT);
  for (const char* study : {"tau-eps", "drift", "homography", "projection"}) {
    const Args args = Args{"study", study, "--backbone", "rootsift", "--num_threads", "1"} + street;
    expect_interrupted(args, 0.8, SIGTERM);
  }
}

TEST_F(AnyCommandTest, DemoEndsSoon) {
  const Args demo = {"demo", "--backbone", "rootsift", "--places", "300", "--num_threads", "1"};
  for (const double after : {0.1, 1.0}) expect_interrupted(demo, after, SIGINT);
}

TEST_F(AnyCommandTest, DatasetsCheckEndsSoon) {
  works({"simulate", "street", "--places", "200", "--height", "48", "--width", "64"});
  interrupted({"datasets", "check", "at_named", "street", "--num_threads", "1"}, 0.05, SIGINT);
}

TEST_F(AnyCommandTest, MethodsCheckEndsSoon) {
  for (const double after : {0.2, 1.2}) {
    expect_interrupted({"methods", "--check"}, after, SIGINT);
  }
}

TEST_F(AnyCommandTest, HugeFilesEndSoon) {
  const std::string huge = sparse_weights("huge.safetensors", kHuge);
  for (const Args& args : {Args{"weights", "info", huge},
                           Args{"weights", "verify", huge},
                           Args{"index", "info", huge},
                           Args{"describe", pictures(), "--out", "x.npy", "--weights", huge}}) {
    const Result result = [&] {
      Program program(kProgram, args, at_);
      await_start(program);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      program.send(SIGTERM);
      EXPECT_LT(until_ended(program), kSoon) << fmt::format("{}", fmt::join(args, " "));
      return program.wait();
    }();
    // What refuses the file before reading all of it is as good.
    EXPECT_TRUE(result.exit_code == 130 || result.exit_code == 1) << result.exit_code;
    EXPECT_EQ(complaints(result.err).size(), 1u) << result.err;
  }
  fs::remove(folder_ / huge);
}

TEST_F(AnyCommandTest, WeightsAddLeavesNothingHalf) {
  const std::string file = sparse_weights("some.safetensors", 50'000'000);
  std::uniform_real_distribution<double> moment(0.01, 0.6);
  for (int i = 0; i < 3; ++i) {
    interrupted({"weights", "add", file, "--name", "mine"}, moment(random_), SIGINT);
  }
  const fs::path added = cache_ / "weights" / "mine.safetensors";
  EXPECT_EQ(fs::exists(added), fs::exists(cache_ / "weights" / "mine.json"));
  works({"weights", "add", file, "--name", "mine"});
  works({"weights", "verify", "mine"});
}

// Nothing asks for a stop while a file is hashed, so only the second signal can be this quick.
TEST_F(AnyCommandTest, SecondSignalEndsAtOnce) {
  const std::string huge = sparse_weights("huge.safetensors", kHuge);
  double quickest = kSoon;
  for (int i = 0; i < 5 && quickest > 0.8; ++i) {
    Program program(kProgram, {"weights", "info", huge}, at_);
    await_start(program);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    program.send(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(program.ended());
    program.send(SIGINT);
    quickest = std::min(quickest, until_ended(program));
    EXPECT_EQ(program.wait().exit_code, 130);
  }
  EXPECT_LT(quickest, 0.8);
  fs::remove(folder_ / huge);
}

// Standard output is a pipe that nobody empties.
TEST_F(AnyCommandTest, EndsSoonWhereNobodyReads) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ::fcntl(reader, F_SETPIPE_SZ, 4096);
  at_.stdout_file = pipe;
  Program program(kProgram, {"methods", "--json"}, at_);
  await_start(program);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(program.ended());
  program.send(SIGINT);
  EXPECT_LT(until_ended(program), kSoon);
  EXPECT_EQ(program.wait().exit_code, 130);
  ::close(reader);
}

}  // namespace
}  // namespace ria::cli_test
