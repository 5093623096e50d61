// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "support/error_message.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"
#include "support/torch_engine.h"

namespace ria {
namespace {

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

class Pair {
 public:
  explicit Pair(const std::string& how) {
    const std::string port = std::to_string(free_port());
    for (const char* rank : {"0", "1"}) {
      cli_test::Surroundings at;
      at.folder = folder_.path();
      at.env = {{"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", port}};
      workers_.push_back(std::make_unique<cli_test::Program>(
          std::string(RIA_BINARY_DIR) + "/train_worker", cli_test::Args{file(rank), how}, at));
    }
  }
  cli_test::Result wait(int rank) { return workers_[rank]->wait(); }
  /// The two lines a worker leaves.
  std::pair<std::string, std::vector<float>> output(int rank) const {
    std::ifstream in(file(std::to_string(rank)));
    std::string heard;
    std::getline(in, heard);
    std::vector<float> values;
    for (float value = 0; in >> value;) values.push_back(value);
    return {heard, values};
  }

 private:
  std::string file(const std::string& rank) const { return (folder_ / rank).string(); }
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<cli_test::Program>> workers_;
};

TEST(TrainWorkers, TwoGiveTheGradientsOfOne) {
  RIA_NEEDS_TORCH;
  Pair pair("");
  for (const int rank : {0, 1}) {
    const cli_test::Result result = pair.wait(rank);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
  const auto engine = SmallNetwork().engine();
  std::vector<float> expected;
  for (const NamedTensor& gradient : engine->gradients(small_batch(8))) {
    expected.insert(expected.end(), gradient.values.begin(), gradient.values.end());
  }
  expected.push_back(static_cast<float>(engine->step(small_batch(8), 1e-3, 1e-2).loss));
  expected.push_back(engine->state().tensors[0].values[0]);
  for (const int rank : {0, 1}) {
    const auto [heard, values] = pair.output(rank);
    EXPECT_EQ(heard, "x xx 3 1");
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
  }
  EXPECT_EQ(pair.output(0).second, pair.output(1).second);
}

TEST(TrainWorkers, ALostOneEndsTheOther) {
  RIA_NEEDS_TORCH;
  for (const std::string how : {"lose", "hang", "absent"}) {
    for (const int lost : {0, 1}) {
      SCOPED_TRACE(how + " " + std::to_string(lost));
      const auto start = std::chrono::steady_clock::now();
      Pair pair(how + " " + std::to_string(lost));
      const cli_test::Result result = pair.wait(1 - lost);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_TRUE(result.err.starts_with("worker " + std::to_string(lost) + " of 2 was lost: "))
          << result.err;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_LT(seconds.count(), 1.5 * 8 + 1) << "the timeout holds once";
    }
  }
}

}  // namespace
}  // namespace ria
