// SPDX-License-Identifier: MIT
#include "util/plugin.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "support/error_message.h"

namespace ria {
namespace {

TEST(Plugin, IsLoadedOnceForAllThreads) {
  std::vector<const void*> found(8);
  std::vector<std::jthread> threads;
  for (const void*& table : found) {
    threads.emplace_back([&table] {
      table = load_plugin({"hdf5", "this test", "HDF5", "nothing"});
    });
  }
  threads.clear();
  EXPECT_NE(found[0], nullptr);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 1u);
}

TEST(Plugin, OfNoSuchNameNamesThePurposeAndTheFile) {
  const std::string message = message_of([] {
    load_plugin({"nobody", "this test", "a library", "a remedy"});
  });
  EXPECT_TRUE(message.starts_with("this test needs a library: libria-nobody.so is not in "))
      << message;
  EXPECT_NE(message.find(RIA_BINARY_DIR), message.npos) << message;
}

}  // namespace
}  // namespace ria
