// SPDX-License-Identifier: MIT
// What was acknowledged stays: killed processes, lost power, failing disks, readers beside a
// writer. RIA_MAP_KILLS and RIA_MAP_SECONDS make the tests longer.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "ria/map.h"
#include "support/error_message.h"
#include "support/fault_vfs.h"
#include "support/made_up_map.h"
#include "support/spill.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kDim = 200;

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

void add_one(Map& map, int number) {
  map.add(
      made_up_descriptors(number, 1, kDim), made_up_places(number, 1), made_up_locals(number, 1));
}

/// Whole, and with the first `least` places, each as it was added.
void expect_whole(const fs::path& file, int least) {
  Map map = Map::open(file);
  EXPECT_EQ(map.check(), std::vector<std::string>{});
  ASSERT_GE(map.size(), least);
  EXPECT_EQ(map.end(), map.size());
  for (int i = 0; i < map.size(); i += 1 + map.size() / 50) {
    EXPECT_EQ(map.place(i).name, made_up_places(i, 1)[0].name);
    EXPECT_EQ(map.local(i).bytes, made_up_locals(i, 1)[0].bytes);
    EXPECT_EQ(map.search(made_up_descriptor(i, kDim), 1).front().place, i);
  }
}

/// A process of its own, which ends with 0 unless `body` throws.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : id_(::fork()) {
    if (id_ != 0) return;
    int code = 0;
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = 1;
    }
    ::_exit(code);
  }
  ~Child() {
    kill();
    wait();
  }
  void kill() {
    if (id_ > 0) ::kill(id_, SIGKILL);
  }
  /// The exit code; 128 and the signal's number.
  int wait() {
    if (id_ <= 0) return 0;
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t id_;
};

TEST(MapDurable, KilledAtAnyMomentNothingIsLost) {
  const TemporaryFolder folder;
  const fs::path file = folder / "m.ria";
  Map::create(file, made_up_header(kDim));
  std::mt19937 random(std::random_device{}());
  int acknowledged = 0;
  for (int round = 0; round < setting("RIA_MAP_KILLS", 12); ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    {
      Child child([&] {
        Map map = Map::open(file, Access::kWrite);
        for (;;) {
          add_one(map, map.end());
          const int now = map.end();
          if (::write(ends[1], &now, sizeof now) != sizeof now) return;
        }
      });
      ::close(ends[1]);
      int first = 0;  // as a rule it has begun
      if (round % 4 != 0) ASSERT_EQ(::read(ends[0], &first, sizeof first), sizeof first);
      acknowledged = std::max(acknowledged, first);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
      child.kill();
      EXPECT_EQ(child.wait(), 128 + SIGKILL);
    }
    int end = 0;
    while (::read(ends[0], &end, sizeof end) == sizeof end) acknowledged = end;
    ::close(ends[0]);
    expect_whole(file, acknowledged);
    if (testing::Test::HasFailure()) return;
  }
  RecordProperty("places", acknowledged);
  EXPECT_GT(acknowledged, 0);
}

TEST(MapDurable, LostPowerLosesNothing) {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  constexpr int kPlaces = 220;  // the WAL is brought into the file on the way
  FaultVfs disk;
  std::vector<std::size_t> done;  // steps of the disk when a place was acknowledged
  {
    Map map = Map::create(folder / "m.ria", made_up_header(kDim));
    done.push_back(disk.steps());
    for (int i = 0; i < kPlaces; ++i) {
      add_one(map, i);
      done.push_back(disk.steps());
    }
  }
  for (int round = 0; round < 40; ++round) {
    const std::size_t end = done[0] + random() % (done.back() - done[0]);
    const auto acknowledged =
        static_cast<int>(std::ranges::upper_bound(done, end) - done.begin()) - 1;
    const fs::path after = folder / ("after" + std::to_string(round));
    for (const auto& [name, content] : disk.after_power_loss(end, random)) {
      spill(after / fs::path(name).filename().string(), content);
    }
    expect_whole(after / "m.ria", acknowledged);
    fs::remove_all(after);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(MapDurable, AFullDiskIsOneLineAndTheMapStaysWhole) {
  const TemporaryFolder folder;
  const fs::path file = folder / "m.ria";
  std::mt19937 random(4);
  FaultVfs disk;
  int places = 0;
  {
    Map map = Map::create(file, made_up_header(kDim));
    for (; places < 20; ++places) add_one(map, places);
    for (int round = 0; round < 20; ++round) {
      disk.bytes_to_failure = random() % 150'000;
      const std::string said = message_of([&] {
        for (;; ++places) add_one(map, places);
      });
      EXPECT_TRUE(said.ends_with("m.ria: the disk is full; the map is as it was")) << said;
      EXPECT_EQ(map.size(), places);
      disk.bytes_to_failure = -1;
      add_one(map, places++);
      EXPECT_EQ(map.search(made_up_descriptor(places - 1, kDim), 1).front().place, places - 1);
    }
  }
  expect_whole(file, places);
  EXPECT_EQ(Map::open(file).size(), places);

  disk.bytes_to_failure = 40'000;
  const std::string said = message_of([&] { made_up_map(500, kDim).save(folder / "copy.ria"); });
  EXPECT_TRUE(said.ends_with("copy.ria: the disk is full; the map is as it was")) << said;
  disk.bytes_to_failure = -1;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(MapDurable, AFailedSyncIsNoAcknowledgement) {
  const TemporaryFolder folder;
  const fs::path file = folder / "m.ria";
  FaultVfs disk;
  int acknowledged = 0;
  for (int round = 0; round < 10; ++round) {
    Map map =
        round == 0 ? Map::create(file, made_up_header(kDim)) : Map::open(file, Access::kWrite);
    const int before = map.end();
    disk.syncs_to_failure = 3 + round;
    const std::string said = message_of([&] {
      for (;;) add_one(map, map.end());
    });
    EXPECT_TRUE(contains(said, "m.ria")) << said;
    EXPECT_GE(map.end(), before);
    acknowledged = map.end();
    disk.syncs_to_failure = -1;
    add_one(map, map.end());  // the disk is well again
    EXPECT_EQ(map.end(), acknowledged + 1);
  }
  expect_whole(file, acknowledged + 1);
}

/// Looks at a growing map until the time is over; throws if it ever sees anything wrong.
void read_along(const fs::path& file, Clock::time_point end, unsigned seed) {
  std::mt19937 random(seed);
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error("a reader saw something wrong: " + what);
  };
  while (Clock::now() < end) {
    Map map = Map::open(file);
    int size = map.size();
    for (int look = 0; look < 20 && Clock::now() < end; ++look) {
      map.refresh();
      require(map.size() >= size, "places have gone");
      size = map.size();
      const int place = static_cast<int>(random() % static_cast<unsigned>(size));
      const Match best = map.search(made_up_descriptor(place, kDim), 1).front();
      require(best.place == place && best.score > 0.999f, "another answer");
      require(map.place(place).name == made_up_places(place, 1)[0].name, "another name");
      require(map.local(place).bytes == made_up_locals(place, 1)[0].bytes, "other features");
    }
  }
}

TEST(MapDurable, TenReadersBesideAWriter) {
  const TemporaryFolder folder;
  const fs::path file = folder / "m.ria";
  {
    Map map = Map::create(file, made_up_header(kDim));
    add_one(map, 0);
  }
  const auto end = Clock::now() + std::chrono::seconds(setting("RIA_MAP_SECONDS", 3));
  std::vector<std::unique_ptr<Child>> readers;
  for (unsigned i = 0; i < 10; ++i) {
    readers.push_back(std::make_unique<Child>([&, i] { read_along(file, end, i); }));
  }
  int places = 1;
  while (Clock::now() < end) {  // a writer that comes and goes
    Map map = Map::open(file, Access::kWrite);
    ASSERT_EQ(map.end(), places);
    for (int i = 0; i < 40 && Clock::now() < end; ++i) add_one(map, places++);
  }
  for (const auto& reader : readers) EXPECT_EQ(reader->wait(), 0);
  RecordProperty("places", places);
  expect_whole(file, places);
}

}  // namespace
}  // namespace ria
