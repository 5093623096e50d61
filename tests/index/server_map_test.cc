// SPDX-License-Identifier: MIT
// Maps on a PostgreSQL server: the same answers as of a file, and nothing lost or doubled whatever
// becomes of the server.
#include <atomic>
#include <set>

#include "index/server_name.h"
#include "ria/map.h"
#include "ria/push.h"
#include "support/error_message.h"
#include "support/made_up_map.h"
#include "support/pglite.h"
#include "support/postgres.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

constexpr int kDim = 200;

Map made_up(int first, int count, const std::string& method = "rootsift-gem") {
  Map map({method, "{}", "", "1", kDim}, Storage::kHalf);
  map.add(made_up_descriptors(first, count, kDim),
          made_up_places(first, count),
          made_up_locals(first, count));
  return map;
}

/// Whole, and with these places, each once.
void expect_whole(const std::string& url, int first, int count) {
  const Map map = Map::open(url);
  EXPECT_EQ(map.check(), std::vector<std::string>{});
  EXPECT_EQ(map.size(), count);
  std::set<std::string> found, expected;
  for (const Place& place : made_up_places(first, count)) expected.insert(place.name);
  int places = 0;
  map.each_place([&](int, const Place& place) {
    found.insert(place.name);
    ++places;
  });
  EXPECT_EQ(places, count);
  EXPECT_EQ(found, expected);
  for (int i = 0; i < count; i += 1 + count / 10) {
    const std::vector<Match> best = map.search(made_up_descriptor(first + i, kDim), 1);
    ASSERT_EQ(best.size(), 1u);
    EXPECT_EQ(map.place(best[0].place).name, made_up_places(first + i, 1)[0].name);
    EXPECT_EQ(map.local(best[0].place).bytes, made_up_locals(first + i, 1)[0].bytes);
  }
}

/// An error of one line that says these and no password.
void expect_one_line(const std::function<void()>& action, const std::vector<std::string>& parts) {
  const std::string said = message_of(action);
  for (const std::string& part : parts) EXPECT_TRUE(contains(said, part)) << said;
  for (const char* none : {"\n", "secret", "open-sesame"}) {
    EXPECT_FALSE(contains(said, none)) << said;
  }
}

TEST(ServerMap, AnswersAreThoseOfTheSameMapHere) {
  RIA_NEEDS_PGLITE();
  TemporaryFolder folder;
  const Pglite server(folder.path(), false);
  Map here = made_up(0, 500);
  here.set_fitted({{"mean", Matrix(1, 3, {1, 2, 3})}});
  PushOptions options;
  options.shards = 3;
  EXPECT_EQ(push_map(here, server.url(), options), 500);
  EXPECT_EQ(push_map(here, server.url(), options), 0);
  Map there = Map::open(server.url(), Access::kWrite);
  EXPECT_EQ(there.size(), 500);
  EXPECT_EQ(there.fitted(), here.fitted());
  EXPECT_EQ(there.header().method, "rootsift-gem");
  const auto compare = [&] {
    for (const int k : {1, 7, 600}) {
      for (const int before : {100, 1000}) {
        SearchOptions odd{before, [](int place) { return place % 2 == 1; }};
        for (const SearchOptions& which : {SearchOptions{}, odd}) {
          const Matrix queries = made_up_descriptors(90, 3, kDim);
          const auto a = here.search(queries, k, which), b = there.search(queries, k, which);
          for (std::size_t q = 0; q < a.size(); ++q) {
            ASSERT_EQ(a[q].size(), b[q].size());
            for (std::size_t i = 0; i < a[q].size(); ++i) {
              EXPECT_EQ(a[q][i].place, b[q][i].place);
              EXPECT_EQ(a[q][i].score, b[q][i].score);  // the same bits
            }
          }
        }
      }
    }
    const auto a = here.scores(made_up_descriptor(90, kDim)),
               b = there.scores(made_up_descriptor(90, kDim));
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].place, b[i].place);
      EXPECT_NEAR(a[i].score, b[i].score, 5e-4);
    }
  };
  compare();
  for (Map* map : {&here, &there}) {
    map->remove({3, 4, 90, 12345});
    EXPECT_EQ(
        map->add(made_up_descriptors(600, 2, kDim), made_up_places(600, 2), made_up_locals(600, 2)),
        500);
    EXPECT_EQ(map->size(), 499);
    EXPECT_EQ(map->find(made_up_places(601, 1)[0].name), std::vector<int>{501});
  }
  compare();
  EXPECT_EQ(there.descriptors({7, 501, 0}), here.descriptors({7, 501, 0}));
  EXPECT_EQ(there.local(501).bytes, here.local(501).bytes);
  EXPECT_THROW(there.place(90), std::invalid_argument);
  EXPECT_THROW(there.local(-1), std::invalid_argument);
  EXPECT_THROW(Map::open(server.url()).remove({1}), std::invalid_argument);
  // And back: the same file.
  here.save(folder / "here.ria");
  there.save(folder / "there.ria");
  EXPECT_TRUE(read_text(folder / "here.ria") == read_text(folder / "there.ria"));
  EXPECT_EQ(there.file().string().find("secret"), std::string::npos);
}

TEST(ServerMap, IndexFindsNearlyAllAndSaysSo) {
  RIA_NEEDS_PGLITE();
  TemporaryFolder folder;
  const Pglite server(folder.path(), false);
  const Map here = made_up(0, 1500);
  PushOptions options;
  options.search = "hnsw";
  options.m = 8;
  options.ef_construction = 40;
  std::vector<std::string> remarks;
  options.remark = [&](const std::string& text) { remarks.push_back(text); };
  push_map(here, server.url("&schema=indexed"), options);
  ASSERT_EQ(remarks.size(), 2u);
  const Map there = Map::open(server.url("&schema=indexed&ef_search=200"));
  EXPECT_NE(there.search_info().note.find("m 8, ef_construction 40, ef_search 200; recall@10"),
            std::string::npos)
      << there.search_info().note;
  const Map exact = Map::open(server.url("&schema=indexed&search=exact"));
  EXPECT_EQ(exact.search_info().kind, "exact");
  int same = 0;
  for (int i = 0; i < 50; ++i) {
    const Descriptor query = made_up_descriptor(30 * i, kDim);
    EXPECT_EQ(exact.search(query, 2)[1].place, here.search(query, 2)[1].place);
    same += there.search(query, 2)[1].place == here.search(query, 2)[1].place;
  }
  EXPECT_GE(same, 40);
  EXPECT_EQ(there.search(made_up_descriptor(5, kDim), 2000).size(), 1500u);
  EXPECT_EQ(there.search(made_up_descriptor(5, kDim), 5, {10, {}}).size(), 5u);
}

TEST(ServerMap, ServerThatIsKilledIsWaitedForAndNothingIsDoubled) {
  RIA_NEEDS_PGLITE();
  TemporaryFolder folder;
  Pglite server(folder.path(), true);
  const std::string url = server.url();
  server.kill();
  server.start(4);  // the header and three batches; the last is done, but nobody says so
  std::atomic<bool> back = false;
  std::jthread nurse([&](const std::stop_token& stop) {
    while (!server.ended() && !stop.stop_requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (stop.stop_requested()) return;
    server.start();
    back = true;
  });
  const Map here = made_up(0, 2000);
  int pushed_before = -1;
  PushOptions options;
  options.progress = [&](int done, int) {
    if (!back) pushed_before = done;
  };
  EXPECT_EQ(push_map(here, url, options), 2000);
  EXPECT_TRUE(back);
  EXPECT_GT(pushed_before, 0);
  EXPECT_LT(pushed_before, 2000);
  expect_whole(url, 0, 2000);
  // One that does not come back.
  server.kill();
  const std::string said = message_of([&] { push_map(here, url + "&retry_seconds=1", options); });
  EXPECT_NE(said.find("Connection refused"), said.npos) << said;
  EXPECT_EQ(said.find("secret"), said.npos) << said;
}

TEST(ServerMap, TwoThatPushAtOnceDoubleNothing) {
  RIA_NEEDS_PGLITE();
  TemporaryFolder folder;
  const Pglite server(folder.path(), false);
  push_map(made_up(0, 1), server.url());
  {
    std::jthread one([&] { push_map(made_up(0, 1200), server.url()); });
    std::jthread other([&] { push_map(made_up(800, 1200), server.url()); });
  }
  expect_whole(server.url(), 0, 2000);
}

TEST(ServerMap, OnesOfAnotherMethodOrVersionAreRefused) {
  RIA_NEEDS_PGLITE();
  if (!std::filesystem::exists("/usr/bin/psql")) GTEST_SKIP() << "no psql";
  TemporaryFolder folder;
  const Pglite server(folder.path(), false);
  push_map(made_up(0, 10), server.url());
  expect_one_line([&] { push_map(made_up(10, 5, "resnet50-ria"), server.url()); },
                  {"rootsift-gem", "resnet50-ria"});
  expect_whole(server.url(), 0, 10);
  cli_test::Surroundings at;
  at.folder = folder.path();
  cli_test::Program psql(
      "/usr/bin/psql", {server.url(), "-c", "UPDATE ria.map SET format = 99"}, at);
  ASSERT_EQ(psql.wait().exit_code, 0);
  expect_one_line([&] { Map::open(server.url()); }, {"schema ria has version 99"});
  expect_one_line([&] { push_map(made_up(10, 5), server.url()); }, {"schema ria has version 99"});
}

TEST(ServerMap, ServersWithoutTheExtensionAndWrongPasswordsAreRefused) {
  if (!PostgresServer::is_here()) GTEST_SKIP() << "no PostgreSQL: package postgresql";
  TemporaryFolder folder;
  const PostgresServer server(folder.path());
  const Map here = made_up(0, 5);
  expect_one_line([&] { push_map(here, server.url("secret")); },
                  {"the database has no pgvector", "CREATE EXTENSION vector"});
  expect_one_line([&] { push_map(here, server.url("open-sesame")); },
                  {"password authentication failed"});
}

TEST(ServerMap, NamesAreReadAndShownWithoutTheirPassword) {
  const ServerName name(
      "postgresql://me:p@ss:w@host:5433/db?schema=street&sslmode=disable&ef_search=7&search=exact");
  EXPECT_EQ(name.url, "postgresql://me:p@ss:w@host:5433/db?sslmode=disable");
  EXPECT_EQ(name.schema, "street");
  EXPECT_EQ(name.ef_search, 7);
  EXPECT_TRUE(name.exact);
  EXPECT_EQ(shown_name("postgresql://me:p@ss:w@host/db"), "postgresql://me:***@host/db");
  EXPECT_EQ(shown_name("postgres://host/db?password=x&user=me&sslpassword=y"),
            "postgres://host/db?password=***&user=me&sslpassword=***");
  EXPECT_EQ(shown_name("postgresql://me@host:5432/db?schema=a"),
            "postgresql://me@host:5432/db?schema=a");
  EXPECT_EQ(shown_name("a:b@c.ria"), "a:b@c.ria");
  EXPECT_EQ(name.without_password("cannot read p@ss:w"), "cannot read ***");
  for (const char* bad :
       {"schema=A-b", "schema=", "ef_search=0", "search=soon", "retry_seconds=-1", "schema=pg_x"}) {
    EXPECT_THROW(ServerName(std::string("postgresql://h/d?") + bad), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace ria
