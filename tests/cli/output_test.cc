// SPDX-License-Identifier: MIT
// Outputs `ria` cannot write.
#include <nlohmann/json.hpp>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

TEST_F(CliTest, OutputInNoFolderIsRefused) {
  pictures();
  spill(
      folder_ / "gt.json",
      R"({"queries": ["pictures/p000.png"], "database": ["pictures/p000.png"], "positives": [[0]]})");
  spill(folder_ / "file.txt", "");
  fs::create_directory(folder_ / "taken.npy");
  for (const std::string folder : {"nowhere/", "file.txt/"}) {
    for (const std::string name : {"x.npy", "x.h5"}) {
      refused(1, Args{"describe", "pictures", "--out", folder + name} + kFast, {folder + "x."});
    }
    refused(1,
            Args{"index", "build", "pictures", "--out", folder + "x.ria"} + kFast,
            {folder + "x.ria"});
    refused(1,
            Args{"eval", "--dataset", "gt.json", "--json", folder + "x.json"} + kFast,
            {folder + "x.json"});
  }
  refused(1, Args{"describe", "pictures", "--out", "taken.npy"} + kFast, {"taken.npy"});
  refused(1, {"simulate", "file.txt/street", "--places", "2"}, {"file.txt/street"});
  refused(1,
          {"demo", "--backbone", "rootsift", "--places", "2", "--out", "file.txt/demo"},
          {"file.txt/demo"});
}

TEST_F(CliTest, NoSpaceLeavesNothingBehind) {
  const Args method = {"--method", "rootsift-ria", "--longest_side", "64"};  // 2080 dims
  pictures();
  at_.file_size_limit = 8192;
  refused(1, Args{"describe", "pictures", "--out", "x.npy"} + method, {"x.npy"});
  refused(1, Args{"describe", "pictures", "--out", "x.h5"} + method, {"x.h5"});
  refused(1, Args{"index", "build", "pictures", "--out", "x.ria"} + method, {"x.ria"});
  at_.file_size_limit = 2048;
  refused(1, {"simulate", "street", "--places", "2"}, {"street"});
}

TEST_F(CliTest, NoSpaceKeepsTheOldOutput) {
  pictures();
  const Args describe = {
      "describe", "pictures", "--method", "rootsift-ria", "--longest_side", "64"};
  works(describe + Args{"--out", "x.npy"});
  works(describe + Args{"--out", "x.h5"});
  fs::remove(folder_ / "pictures" / "p000.png");
  at_.file_size_limit = 8192;
  refused(1, describe + Args{"--out", "x.npy"}, {"x.npy"});
  refused(1, describe + Args{"--out", "x.h5"}, {"x.h5"});
}

TEST_F(CliTest, AnswersThatCannotBePrintedAreAnError) {
  const std::string places = index();
  at_.stdout_file = "/dev/full";
  refused(1, {"query", places, "pictures/p000.png"}, {"No space left"});
  refused(1, {"methods", "--json"}, {"No space left"});
}

}  // namespace
}  // namespace ria::cli_test
