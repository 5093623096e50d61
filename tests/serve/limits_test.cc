// SPDX-License-Identifier: MIT
// What requests from outside cannot show for certain: who waits, who gets which cores, whose token
// it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <latch>

#include "serve/asked.h"
#include "serve/position.h"
#include "serve/tokens.h"
#include "serve/workers.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

using testing::HasSubstr;

TEST(Workers, OneAloneHasAllCoresAndOneBesideAnotherHasOne) {
  Workers workers(3, 4);
  workers.run([](int cores) { EXPECT_EQ(cores, 3); });
  std::promise<void> inside, go;
  std::thread first([&] {
    workers.run([&](int) {
      inside.set_value();
      go.get_future().wait();
    });
  });
  inside.get_future().wait();
  workers.run([](int cores) { EXPECT_EQ(cores, 1); });
  go.set_value();
  first.join();
  workers.run([](int cores) { EXPECT_EQ(cores, 3); });
}

TEST(Workers, SoManyWaitAndTheNextIsRefusedAtOnce) {
  Workers workers(1, 2);
  std::promise<void> inside, go;
  std::vector<std::thread> clients;
  clients.emplace_back([&] {
    workers.run([&](int) {
      inside.set_value();
      go.get_future().wait();
    });
  });
  inside.get_future().wait();
  EXPECT_FALSE(workers.full());
  std::atomic<int> done = 0;
  for (int i = 0; i < 2; ++i) clients.emplace_back([&] { workers.run([&](int) { ++done; }); });
  while (workers.waiting() < 2) std::this_thread::yield();
  EXPECT_TRUE(workers.full());
  EXPECT_THROW(workers.run([](int) { ADD_FAILURE() << "ran"; }), Busy);
  go.set_value();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(workers.full());
  EXPECT_EQ(workers.running(), 0);
}

TEST(Workers, WithoutAQueueAFreeThreadIsStillUsed) {
  Workers workers(1, 0);
  int ran = 0;
  for (int i = 0; i < 100; ++i) workers.run([&](int) { ++ran; });
  EXPECT_EQ(ran, 100);
}

TEST(Workers, WhatABodyThrowsComesOutAndTheThreadGoesOn) {
  Workers workers(2, 2);
  EXPECT_THROW(workers.run([](int) { throw std::invalid_argument("no"); }), std::invalid_argument);
  int ran = 0;
  workers.run([&](int) { ++ran; });
  EXPECT_EQ(ran, 1);
}

class TokensOf : public testing::Test {
 protected:
  Tokens read(const std::string& text) {
    write_text(file_, text);
    return Tokens(file_);
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "none";
  }
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "tokens";
};

TEST_F(TokensOf, RightsAreTheLargestOfTheSameToken) {
  const Tokens tokens = read(
      "# who\nread  aaaaaaaaaaaaaaaa # a robot\n\nwrite bbbbbbbbbbbbbbbb\n"
      "read bbbbbbbbbbbbbbbb\n");
  EXPECT_FALSE(tokens.open_to_all());
  EXPECT_EQ(tokens.right_of("Bearer aaaaaaaaaaaaaaaa"), Right::kRead);
  EXPECT_EQ(tokens.right_of("Bearer bbbbbbbbbbbbbbbb"), Right::kWrite);
  for (const char* other : {"",
                            "Bearer ",
                            "Bearer aaaaaaaaaaaaaaa",
                            "Bearer aaaaaaaaaaaaaaaa ",
                            "bearer aaaaaaaaaaaaaaaa",
                            "Basic aaaaaaaaaaaaaaaa",
                            "aaaaaaaaaaaaaaaa"}) {
    EXPECT_EQ(tokens.right_of(other), Right::kNone) << other;
  }
  EXPECT_EQ(Tokens().right_of(""), Right::kWrite);
}

TEST_F(TokensOf, ALineThatIsNoneIsNamed) {
  EXPECT_THAT(refusal("read aaaaaaaaaaaaaaaa\nread short\n"), HasSubstr("tokens:2: "));
  EXPECT_THAT(refusal("admin aaaaaaaaaaaaaaaa\n"), HasSubstr("tokens:1: "));
  EXPECT_THAT(refusal("read aaaaaaaaaaaaaaaa more\n"), HasSubstr("tokens:1: "));
  EXPECT_THAT(refusal("# nobody\n"), HasSubstr("no token"));
}

TEST(Targets, AreDecodedOnceAndLeadNowhereElse) {
  const Target target = parse_target("/v1/maps/a%2Fb%2525?name=x+y%26z&k=5");
  EXPECT_EQ(target.path, (std::vector<std::string>{"v1", "maps", "a/b%25"}));
  EXPECT_EQ(target.query.at("k"), "5");
  EXPECT_THAT(target.query.at("name"), HasSubstr("y&z"));
  for (const char* bad : {"", "maps", "/a/../b", "/a/%2e%2e/b", "/./a", "/%zz", "/%4", "/a%00b"}) {
    EXPECT_THROW(parse_target(bad), HttpError) << bad;
  }
}

TEST(Parameters, AreWholeAndWithinTheirLimits) {
  HttpRequest request;
  const Asked asked(
      request, parse_target("/?k=5&x=1e3&far=1e999&odd=5x&none=&list=1,2,3"), Right::kRead);
  EXPECT_EQ(asked.integer("k", 1, 1, 10), 5);
  EXPECT_EQ(asked.integer("absent", 7, 1, 10), 7);
  EXPECT_EQ(asked.number("x"), 1000);
  EXPECT_TRUE(std::isnan(asked.number("absent")));
  EXPECT_THROW(asked.integer("k", 1, 1, 4), HttpError);
  for (const char* bad : {"far", "odd"}) EXPECT_THROW(asked.number(bad), HttpError) << bad;
  EXPECT_EQ(asked.numbers("list", 3), (std::vector<double>{1, 2, 3}));
  EXPECT_THROW(asked.numbers("list", 2), HttpError);
  EXPECT_THROW(asked.only({"k", "x"}), HttpError);
  for (const char* bad : {"", "-1", "1.0", "99999999999", " 1", "0x1"})
    EXPECT_FALSE(parse_id(bad)) << bad;
  EXPECT_EQ(parse_id("17"), 17);
}

TEST(Positions, GoToMetresAndBackInEveryZone) {
  for (double latitude = -80; latitude <= 80; latitude += 16) {
    for (double longitude = -179; longitude < 180; longitude += 13) {
      const LatLon at{latitude, longitude};
      const int zone = utm_zone_of(at);
      const auto [east, north] = to_utm(at, zone);
      const LatLon back = from_utm(east, north, zone);
      EXPECT_NEAR(back.latitude, latitude, 1e-8);  // a millimetre
      EXPECT_NEAR(back.longitude, longitude, 1e-7);
    }
  }
}

}  // namespace
}  // namespace ria
