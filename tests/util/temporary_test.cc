// SPDX-License-Identifier: MIT
#include "util/temporary.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <thread>

#include "support/temporary_folder.h"
#include "util/atomic_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

class TemporaryTest : public testing::Test {
 protected:
  int entries() const {
    return static_cast<int>(std::distance(fs::recursive_directory_iterator(folder_.path()),
                                          fs::recursive_directory_iterator()));
  }

  /// Runs this in a process of its own that ends without destructors.
  template <typename Action>
  void in_child(const Action& action) {
    const pid_t child = ::fork();
    if (child == 0) {
      action();
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

  TemporaryFolder folder_;
};

TEST_F(TemporaryTest, GoesWithItsOwner) {
  {
    AtomicFile file(folder_ / "file");
    AtomicFolder folder(folder_ / "a" / "b" / "c");
    write_text(folder.temporary() / "inside", "text");
    EXPECT_EQ(entries(), 5);  // a, a/b, the hidden c with its file, the hidden file
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(TemporaryTest, GoesWithAProcessThatEndsAbruptly) {
  in_child([&] {
    auto* file = new AtomicFile(folder_ / "file");
    file->write("half");
    auto* folder = new AtomicFolder(folder_ / "a" / "b" / "c");
    write_text(folder->temporary() / "inside", "text");
    new AtomicFile(folder->temporary() / "unfinished");
    new MadeFolders(folder_ / "x" / "y");
    remove_temporaries();
  });
  EXPECT_EQ(entries(), 0);
}

TEST_F(TemporaryTest, WhatIsFinishedStays) {
  in_child([&] {
    write_text(folder_ / "file", "whole");
    auto* folder = new AtomicFolder(folder_ / "a" / "b");
    write_text(folder->temporary() / "inside", "text");
    folder->commit();
    auto* made = new MadeFolders(folder_ / "x" / "y");
    made->keep();
    auto* full = new MadeFolders(folder_ / "full" / "empty");
    write_text(folder_ / "full" / "other", "not ours to remove");
    (void)full;
    remove_temporaries();
  });
  EXPECT_EQ(read_text(folder_ / "file"), "whole");
  EXPECT_EQ(read_text(folder_ / "a" / "b" / "inside"), "text");
  EXPECT_TRUE(fs::exists(folder_ / "x" / "y"));
  EXPECT_TRUE(fs::exists(folder_ / "full" / "other"));
  EXPECT_FALSE(fs::exists(folder_ / "full" / "empty"));
}

// Steps that belong together are waited for; afterwards nobody makes anything.
TEST_F(TemporaryTest, HeldStepsAreDoneWholeAndNothingFollows) {
  using std::chrono::milliseconds;
  in_child([&] {
    auto held = hold_temporaries();
    std::thread(remove_temporaries).detach();
    std::this_thread::sleep_for(milliseconds(50));
    write_text(folder_ / "one", "1");
    write_text(folder_ / "two", "2");
    held.unlock();
    std::this_thread::sleep_for(milliseconds(300));
    std::thread([&] { new AtomicFile(folder_ / "three"); }).detach();
    std::this_thread::sleep_for(milliseconds(100));
  });
  EXPECT_EQ(entries(), 2);
  EXPECT_EQ(read_text(folder_ / "one"), "1");
  EXPECT_EQ(read_text(folder_ / "two"), "2");
}

}  // namespace
}  // namespace ria
