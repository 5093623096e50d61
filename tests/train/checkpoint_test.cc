// SPDX-License-Identifier: MIT
#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <stop_token>

#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "train/option_json.h"
#include "train/run_config.h"
#include "train/save_on_stop.h"
#include "util/files.h"

namespace ria {
namespace {

Checkpoint some_checkpoint() {
  Checkpoint made;
  made.config = {{"options", train_options_json(TrainOptions{})}};
  made.position.epoch = 3;
  made.position.batch = 7;
  made.position.validated_step = 40;
  made.position.best = ModelRecall{61.25, 80.5};
  TrainLogRow row;
  row.step = 41;
  row.epoch = 4;
  row.loss = 0.1234567890123;
  row.lr = 6e-5;
  row.positive_pairs = 12;
  made.position.log = {row, row};
  made.position.log[1].recall_at_1 = 61.25;
  made.position.hardest = {{"a b.jpg", "c.jpg", false, 0.75}};
  made.engine.steps = 41;
  made.engine.tensors = {{"heads.0.projection.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0f}},
                         {"heads.0.projection.weight#m", {2, 3}, {0, 1e-30f, 3, 4, 5, 6}}};
  return made;
}

TEST(Checkpoint, GivesBackWhatWasSaved) {
  const TemporaryFolder folder;
  const Checkpoint saved = some_checkpoint();
  save_checkpoint(folder / "c.safetensors", saved);
  const Checkpoint read = load_checkpoint(folder / "c.safetensors");
  EXPECT_EQ(read.config, saved.config);
  EXPECT_EQ(read.position.epoch, 3);
  EXPECT_EQ(read.position.batch, 7);
  EXPECT_EQ(read.position.validated_step, 40);
  EXPECT_EQ(read.position.best->at_5, 80.5);
  ASSERT_EQ(read.position.log.size(), 2u);
  EXPECT_EQ(read.position.log[0].loss, saved.position.log[0].loss);
  EXPECT_FALSE(read.position.log[0].recall_at_1);
  EXPECT_EQ(read.position.log[1].recall_at_1, 61.25);
  EXPECT_EQ(read.position.hardest[0].first, "a b.jpg");
  EXPECT_EQ(read.engine.steps, 41);
  ASSERT_EQ(read.engine.tensors.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.engine.tensors[i].name, saved.engine.tensors[i].name);
    EXPECT_EQ(read.engine.tensors[i].shape, saved.engine.tensors[i].shape);
    EXPECT_EQ(read.engine.tensors[i].values, saved.engine.tensors[i].values);
  }
}

TEST(Checkpoint, OtherFilesAreRefusedByName) {
  const TemporaryFolder folder;
  const auto file = folder / "c.safetensors";
  save_checkpoint(file, some_checkpoint());
  const std::string whole = read_text(file);
  for (const std::size_t size : {std::size_t(0), whole.size() / 2, whole.size() - 1}) {
    write_text(file, whole.substr(0, size));
    EXPECT_NE(message_of([&] { load_checkpoint(file); }).find(file.string()), std::string::npos);
  }
}

// What a disk without room does to a write; the last checkpoint stays as it was.
TEST(Checkpoint, StaysWhereTheNextOneHasNoRoom) {
  const TemporaryFolder folder;
  const auto file = folder / "c.safetensors";
  Checkpoint checkpoint = some_checkpoint();
  save_checkpoint(file, checkpoint);
  const std::string before = read_text(file);
  checkpoint.engine.tensors[0] = {"large", {100'000}, std::vector<float>(100'000, 1.0f)};
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{64'000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = message_of([&] { save_checkpoint(file, checkpoint); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("cannot write " + file.string()), std::string::npos) << message;
  EXPECT_EQ(read_text(file), before);
}

TEST(Checkpoint, AStopInTheMiddleOfAStepSavesWhatWasArmed) {
  const TemporaryFolder folder;
  const auto file = folder / "c.safetensors";
  std::stop_source source;
  CheckpointWriter writer(file, source.get_token());
  writer.arm(some_checkpoint());
  EXPECT_FALSE(std::filesystem::exists(file));
  source.request_stop();
  EXPECT_EQ(load_checkpoint(file).position.batch, 7);
}

TEST(Checkpoint, OfOtherOptionsIsRefusedByTheFirstThatDiffers) {
  TrainOptions options;
  const auto record = [&] {
    return run_config(TrainingSet{}, std::nullopt, options, RunFacts{}, 1);
  };
  const auto made_with = record();
  options.num_threads = 3;
  options.feature_cache = "elsewhere";
  check_same_run("c", made_with, record());
  options.clip_norm = 2;
  options.head_lr = 1e-3;
  const std::string message = message_of([&] { check_same_run("c", made_with, record()); });
  EXPECT_NE(message.find("c was made with head_lr 0.0006, 0.001 is asked for"), std::string::npos)
      << message;
}

TEST(Workers, OfOtherOptionsAreNamed) {
  TrainOptions options;
  const auto record = [&] {
    return run_config(TrainingSet{}, std::nullopt, options, RunFacts{}, 2).dump();
  };
  const std::string first = record();
  check_same_workers({first, first});
  options.lr = 1e-4;
  EXPECT_NE(message_of([&] {
              check_same_workers({first, first, record()});
            }).find("rank 2 has lr 0.0001, rank 0 6e-05"),
            std::string::npos);
}

}  // namespace
}  // namespace ria
