// SPDX-License-Identifier: MIT
// `ria train` from pictures to a model, stopped in every way, and with everything that can be
// wrong.
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/train_fixture.h"

namespace ria::cli_test {
namespace {

TEST_F(TrainTest, LearnsAndLeavesAModel) {
  const std::string said = works(changed(validated("runs/x"), {"--epochs", "12"}));
  EXPECT_NE(said.find("12 places, 24 pictures"), said.npos) << said;
  EXPECT_NE(said.find("model: runs/x/model.safetensors"), said.npos) << said;
  for (const char* file : {"model.safetensors",
                           "last.safetensors",
                           "checkpoint.safetensors",
                           "config.json",
                           "log.csv",
                           "index.html"}) {
    EXPECT_TRUE(fs::exists(folder_ / "runs/x" / file)) << file;
  }
  const auto loss = column("runs/x", 2);
  ASSERT_EQ(loss.size(), 24u);
  EXPECT_LT(mean(loss, 20, 24), 0.9 * mean(loss, 0, 4));
  const auto config = nlohmann::json::parse(bytes("runs/x/config.json"));
  EXPECT_EQ(config["options"]["heads"], 2);
  EXPECT_EQ(config["set"]["train_pictures"], 24);
  EXPECT_EQ(config["weights_sha256"].get<std::string>().size(), 64u);
  works({"describe",
         "street/queries",
         "--method",
         "ria-ft",
         "--weights",
         "runs/x/model.safetensors",
         "--out",
         "x.npy"});
  EXPECT_EQ(read_rows(folder_ / "x.npy").cols(), 24);
  // A run that is over is over.
  const std::string model = bytes("runs/x/model.safetensors");
  works(changed(validated("runs/x"), {"--epochs", "12"}));
  EXPECT_EQ(bytes("runs/x/model.safetensors"), model);
}

// The recall that training measures is the recall of the file it leaves.
TEST_F(TrainTest, ModelHasTheRecallThatWasMeasured) {
  const std::string said = works(validated("x"));
  const std::size_t at = said.find("R@1: ");
  ASSERT_NE(at, said.npos) << said;
  const std::string measured = works({"eval",
                                      "--database_folder",
                                      "street/database",
                                      "--queries_folder",
                                      "street/queries",
                                      "--method",
                                      "ria-ft",
                                      "--weights",
                                      "x/model.safetensors"});
  EXPECT_NE(measured.find(said.substr(at, said.find('\n', at) - at)), measured.npos)
      << said << measured;
}

TEST_F(TrainTest, GoesOnToTheSameBits) {
  works(validated("calm"));
  const Args often = Args{"--checkpoint_minutes", "0"};
  for (const int signal_number : {SIGKILL, SIGTERM}) {
    const std::string run = "ended" + std::to_string(signal_number);
    const int code = ended_by(signal_number, validated(run) + often, run);
    EXPECT_EQ(code, signal_number == SIGKILL ? 128 + SIGKILL : 130);
    EXPECT_TRUE(fs::exists(folder_ / run / "checkpoint.safetensors"));
    works(validated(run) + often);
    for (const char* file : {"/model.safetensors", "/last.safetensors"}) {
      EXPECT_EQ(bytes(run + file), bytes(std::string("calm") + file)) << run << file;
    }
    EXPECT_EQ(column(run, 2), column("calm", 2));
    for (const auto& entry : fs::directory_iterator(folder_ / run)) {
      if (signal_number == SIGTERM) EXPECT_NE(entry.path().filename().string()[0], '.');
    }
  }
}

TEST_F(TrainTest, OtherOptionsDoNotGoOn) {
  works(to("x"));
  refused(
      2, to("x") + Args{"--clip_norm", "3"}, {"x/checkpoint.safetensors was made with clip_norm"});
  works(changed(to("x"), {"--clip_norm", "3", "--epochs", "1"}) + Args{"--restart"});
}

TEST_F(TrainTest, LossThatIsNoNumberEndsTheRun) {
  const Result result = ria(changed(to("x"), {"--lr", "1e30", "--head_lr", "1e30"}));
  EXPECT_EQ(result.exit_code, 1);
  const auto said = complaints(result.err);
  ASSERT_EQ(said.size(), 1u) << result.err;
  EXPECT_NE(said[0].find("ria: step "), said[0].npos) << said[0];
  EXPECT_NE(said[0].find("no numbers"), said[0].npos) << said[0];
  EXPECT_NE(said[0].find(".jpg"), said[0].npos) << said[0];
  EXPECT_TRUE(fs::exists(folder_ / "x/checkpoint.safetensors"));
}

TEST_F(TrainTest, FullDiskLeavesTheLastCheckpoint) {
  const Args args = changed(to("x"), {"--epochs", "200"}) + Args{"--checkpoint_minutes", "0"};
  EXPECT_EQ(ended_by(SIGTERM, args, "x"), 130);
  const std::string before = bytes("x/checkpoint.safetensors");
  at_.file_size_limit = before.size() / 2;
  const Result result = ria(args);
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(complaints(result.err).size(), 1u) << result.err;
  EXPECT_NE(result.err.find("cannot write x/"), result.err.npos) << result.err;
  EXPECT_EQ(bytes("x/checkpoint.safetensors"), before);
}

TEST_F(TrainTest, RestartForgetsTheOldRunAtOnce) {
  const Args args = changed(to("x"), {"--epochs", "1"});
  works(args);
  at_.file_size_limit = 1000;  // the new run ends before its first checkpoint
  EXPECT_EQ(ria(args + Args{"--restart"}).exit_code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "x/checkpoint.safetensors"));
  // Refused options are no restart.
  at_.file_size_limit = RLIM_INFINITY;
  works(args);
  const auto before = contents();
  EXPECT_EQ(ria(changed(args, {"--unfreeze", "99"}) + Args{"--restart"}).exit_code, 2);
  EXPECT_EQ(contents(), before);
}

TEST_F(TrainTest, PicturesThatCannotBeReadAreReported) {
  fs::remove(folder_ / "street");
  fs::copy(rendered_street(), folder_ / "street", fs::copy_options::recursive);
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(folder_ / "street/queries")) {
    if (entry.path().extension() == ".jpg") all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  spill(all.at(3), "no picture");
  const Result result = ria(validated("x"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto said = complaints(result.err);
  ASSERT_EQ(said.size(), 3u) << result.err;  // it is a training picture and a query
  EXPECT_TRUE(said[0].starts_with("ria: skipped: ")) << said[0];
  EXPECT_NE(said[0].find(all[3].filename().string()), said[0].npos) << said[0];
  EXPECT_EQ(said[2], "ria: 2 of 48 pictures were skipped");
}

TEST_F(TrainTest, StopsWhileMlpsBegin) {
  Surroundings at = at_;
  at.terminal = true;
  const Args args = changed(to("x"), {"--d", "64", "--mlp", "128"});
  Program program(kProgram, args, at);
  ASSERT_TRUE(program.wait_for("starting MLPs 24/24"));
  program.send(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 130);
}

TEST_F(TrainTest, BadInputIsOneLine) {
  refused(2, {"train", "--out", "x"}, {"--train_folder D"});
  refused(2, flags(), {"--out"});
  refused(2, to("x") + Args{"--unfreezed", "2"}, {"did you mean --unfreeze"});
  refused(2, to("x") + Args{"--device", "cuda"}, {"cuda"});
  refused(2, changed(to("x"), {"--augment", "many"}), {"augment"});
  refused(2, changed(to("x"), {"--epochs", "-1"}), {"epochs"});
  refused(2, changed(to("x"), {"--unfreeze", "99"}), {"unfreeze"});
  refused(2,
          {"train", "--train_folder", "street", "--backbone", "resnet5", "--out", "x"},
          {"unknown backbone 'resnet5'"});
  refused(2, {"train", "--dataset", "gsv-cities", "--out", "x"}, {"--data_folder"});
  pictures("lonely", 2);
  refused(1, {"train", "--train_folder", "lonely", "--out", "x"}, {"lonely"});
  spill(folder_ / "file", "no folder");
  refused(1, to("file/x"), {"file"});
}

TEST_F(TrainTest, PicturesThatAreMissingAreNamed) {
  fs::create_directories(folder_ / "gsv/Dataframes");
  fs::create_directories(folder_ / "gsv/Images/Paris");
  std::ofstream(folder_ / "gsv/Dataframes/Paris.csv")
      << "place_id,year,month,northdeg,city_id,lat,lon,panoid\n"
      << "1,2015,3,90,Paris,48.0,2.0,aaaa\n1,2016,4,90,Paris,48.0,2.0,bbbb\n";
  refused(1,
          {"train", "--dataset", "gsv-cities", "--data_folder", "gsv", "--out", "x"},
          {"no place has 4 pictures; gsv/Dataframes/Paris.csv: 2 of 2 pictures are missing"});
}

TEST_F(TrainTest, WithoutThePluginSaysWhatToInstall) {
  at_.env["RIA_PLUGIN_DIR"] = (base_ / "nothing").string();
  refused(1, to("x"), {"training needs LibTorch", "libria-torch.so"});
  EXPECT_NE(works({"train", "--help"}).find("--learn_projection"), std::string::npos);
}

// Nothing is trained on the first rung, and the network alone on the second.
TEST_F(TrainTest, FirstRungsOfTheLadderAreModels) {
  for (const char* unfrozen : {"0", "1"}) {
    Args args = changed(to("x"), {"--epochs", "1"}) + Args{"--restart"};
    std::erase(args, "--mlp");
    std::erase(args, "12");
    works(changed(args, {"--unfreeze", unfrozen, "--heads", "1"}) +
          Args{"--no_mlp", "--no_learn_projection"});
    works({"describe",
           "street/queries",
           "--method",
           "ria-ft",
           "--weights",
           "x/model.safetensors",
           "--out",
           "x.npy"});
  }
}

TEST_F(TrainTest, TheStudyNamesModelsThatAreMissing) {
  refused(1,
          {"study",
           "ft-components",
           "--database_folder",
           "street/database",
           "--queries_folder",
           "street/queries",
           "--runs",
           "nowhere"},
          {"no method could be run", "nowhere/mlp/model.safetensors is missing"});
}

}  // namespace
}  // namespace ria::cli_test
