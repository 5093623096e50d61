// SPDX-License-Identifier: MIT
// `ria train` by several workers, and with one of them lost.
#include "cli/train_fixture.h"

namespace ria::cli_test {
namespace {

class WorkersTest : public TrainTest {
 protected:
  /// Of one of two workers.
  Surroundings of_rank(int rank) const {
    Surroundings at = at_;
    at.env["RANK"] = std::to_string(rank);
    at.env["WORLD_SIZE"] = "2";
    at.env["MASTER_PORT"] = std::to_string(port_);
    return at;
  }
  const int port_ = 20000 + static_cast<int>(::getpid()) % 20000;
};

TEST_F(WorkersTest, ShareTheBatchesOfOne) {
  works(to("one"));
  Program first(kProgram, to("two"), of_rank(0));
  Program second(kProgram, to("two"), of_rank(1));
  const Result of_first = first.wait(), of_second = second.wait();
  EXPECT_EQ(of_first.exit_code, 0) << of_first.err;
  EXPECT_EQ(of_second.exit_code, 0) << of_second.err;
  const auto one = column("one", 2), two = column("two", 2);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 2e-3) << i;
}

TEST_F(WorkersTest, OfOtherOptionsAreNamed) {
  Program first(kProgram, to("x"), of_rank(0));
  Program second(kProgram, changed(to("x"), {"--lr", "2e-4"}), of_rank(1));
  for (Program* one : {&first, &second}) {
    const Result result = one->wait();
    EXPECT_EQ(result.exit_code, 2);
    ASSERT_EQ(complaints(result.err).size(), 1u) << result.err;
    EXPECT_NE(result.err.find("rank 1 has lr 0.0002, rank 0 0.001"), result.err.npos) << result.err;
  }
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

TEST_F(WorkersTest, TheLossOfTheFirstEndsTheOther) {
  const Args args = changed(to("x"), {"--epochs", "200"});
  Program first(kProgram, args, of_rank(0));
  Program second(kProgram, args, of_rank(1));
  for (int i = 0; i < 6000 && !fs::exists(folder_ / "x/log.csv"); ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::this_thread::sleep_for(milliseconds(300));
  first.send(SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  const Result result = second.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  ASSERT_EQ(complaints(result.err).size(), 1u) << result.err;
  EXPECT_NE(result.err.find("worker 0 of 2 was lost"), result.err.npos) << result.err;
}

TEST_F(WorkersTest, AllTellWhatTheyCouldNotRead) {
  fs::remove(folder_ / "street");
  fs::copy(rendered_street(), folder_ / "street", fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(folder_ / "street/queries")) {
    if (entry.path().extension() == ".jpg") spill(entry.path(), "no picture");
  }
  const Args args = changed(to("x"), {"--augment", "standard"});
  Program first(kProgram, args, of_rank(0));
  Program second(kProgram, args, of_rank(1));
  const Result of_first = first.wait(), of_second = second.wait();
  EXPECT_EQ(of_first.exit_code, 0) << of_first.err;
  EXPECT_EQ(of_second.exit_code, 0) << of_second.err;
  EXPECT_NE(of_first.err.find("12 of 24 pictures were skipped"), of_first.err.npos) << of_first.err;
  EXPECT_EQ(complaints(of_second.err), Args{});
}

TEST_F(WorkersTest, ALostOneEndsTheRunAndAnotherNumberGoesOn) {
  const Args args = changed(to("x"), {"--epochs", "200"});
  Program first(kProgram, args, of_rank(0));
  Program second(kProgram, args, of_rank(1));
  for (int i = 0; i < 6000 && !fs::exists(folder_ / "x/log.csv"); ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::this_thread::sleep_for(milliseconds(300));
  second.send(SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  const Result result = first.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(complaints(result.err).size(), 1u) << result.err;
  EXPECT_NE(result.err.find("worker 1 of 2 was lost"), result.err.npos) << result.err;
  const std::size_t before = column("x", 0).size();
  EXPECT_EQ(ended_by(SIGTERM, args + Args{"--checkpoint_minutes", "0"}, "x"), 130);
  EXPECT_GE(column("x", 0).size(), before);
}

}  // namespace
}  // namespace ria::cli_test
