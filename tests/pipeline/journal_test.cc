// SPDX-License-Identifier: MIT
// What an unfinished run leaves, whole and damaged.
#include "pipeline/journal.h"

#include <gtest/gtest.h>

#include "ria/weights.h"
#include "support/cache_in.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Records = std::vector<Journal::Record>;

class JournalTest : public ::testing::Test {
 protected:
  static Records take(Journal& journal, int total = 10) {
    Records records;
    journal.take(total, [&](Journal::Record&& record) { records.push_back(std::move(record)); });
    return records;
  }

  static Records take_file(int total = 10) {
    Journal journal("test");
    return take(journal, total);
  }

  static void expect_same(const Records& found, const Records& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].picture, expected[i].picture);
      EXPECT_EQ(found[i].values, expected[i].values);
    }
  }

  static Records first(std::size_t count) {
    const Records& all = kRecords;
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  void write(const Records& records) const {
    Journal journal("test");
    for (const Journal::Record& record : records) journal.append(record);
    journal.flush();
    EXPECT_EQ(journal.bytes(), fs::file_size(file()));
  }

  static fs::path file() { return cache_folder() / "unfinished" / "test.partial"; }

  // Of different lengths, none, and longer than what waits in memory.
  static inline const Records kRecords = {
      {1, {1, 2, 3}}, {2, {}}, {3, std::vector<float>(1'500'000, 0.5f)}, {0, {4, 5, 6, 7, 8}}};
  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
};

TEST_F(JournalTest, RecordsOfAnyLengthComeBack) {
  write(kRecords);
  expect_same(take_file(), kRecords);
  Journal journal("test");
  EXPECT_EQ(take(journal).size(), kRecords.size());
  journal.append({7, {9}});
  journal.flush();
  EXPECT_EQ(take(journal).back().values, (std::vector<float>{9}));
  journal.remove();
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(JournalTest, ADamagedTailIsDroppedAndCutOff) {
  const Records small = {kRecords[0], kRecords[1], kRecords[3]};
  write(small);
  const std::string whole = read_text(file());
  const std::size_t ends[] = {8, 8 + 8 + 12 + 8, 8 + 8 + 12 + 8 + 8 + 8, whole.size()};
  for (std::size_t length = 0; length < whole.size(); ++length) {
    spill(file(), whole.substr(0, length));
    std::size_t good = 0;
    while (good + 1 < std::size(ends) && ends[good + 1] <= length) ++good;
    expect_same(take_file(), {small.begin(), small.begin() + static_cast<std::ptrdiff_t>(good)});
    EXPECT_EQ(fs::file_size(file()), length < 8 ? 0 : ends[good]) << length;
  }
}

TEST_F(JournalTest, AnyChangedByteDropsItsRecord) {
  const Records small = {kRecords[0], kRecords[1], kRecords[3]};
  write(small);
  const std::string whole = read_text(file());
  const std::size_t ends[] = {8, 8 + 8 + 12 + 8, 8 + 8 + 12 + 8 + 8 + 8, whole.size()};
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    spill(file(), changed);
    std::size_t good = 0;
    while (ends[good + 1] <= at) ++good;
    if (at < 8) good = 0;
    expect_same(take_file(), {small.begin(), small.begin() + static_cast<std::ptrdiff_t>(good)});
  }
}

TEST_F(JournalTest, AFileOfAnotherFormatIsIgnoredAndReplaced) {
  fs::create_directories(file().parent_path());
  spill(file(), std::string(1000, 'x'));
  Journal journal("test");
  EXPECT_TRUE(take(journal).empty());
  journal.append(kRecords[0]);
  journal.flush();
  expect_same(take(journal), first(1));
}

TEST_F(JournalTest, APictureOutsideTheRunIsDropped) {
  write({kRecords[0], kRecords[1]});
  expect_same(take_file(2), first(1));
}

TEST_F(JournalTest, RewritingLeavesTheNewRecordsOnly) {
  write(kRecords);
  {
    Journal journal("test");
    take(journal);
    int given = 0;
    journal.rewrite([&](Journal::Record& record) {
      record = {given, {static_cast<float>(given)}};
      return given++ < 2;
    });
    journal.append(kRecords[0]);
    journal.flush();
    EXPECT_EQ(journal.bytes(), fs::file_size(file()));
  }
  expect_same(take_file(), {{0, {0}}, {1, {1}}, kRecords[0]});
  EXPECT_EQ(std::distance(fs::directory_iterator(file().parent_path()), {}), 1);
}

TEST_F(JournalTest, OnlyOneProcessKeepsARun) {
  write({kRecords[0]});
  Journal first_one("test");
  EXPECT_EQ(take(first_one).size(), 1u);
  Journal second("test");
  EXPECT_TRUE(take(second).empty());
  second.append(kRecords[1]);
  second.flush();
  EXPECT_EQ(take(first_one).size(), 1u);
}

}  // namespace
}  // namespace ria
