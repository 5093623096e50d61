// SPDX-License-Identifier: MIT
// `ria index optimise` and --search.
#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

class OptimiseTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    pictures("pictures", 3);
  }
  const Args kBuild = {"index", "build", "pictures", "--out", "m.ria", "--method", "rootsift-ria"};
};

TEST_F(OptimiseTest, FewPlacesAreSearchedExactly) {
  works(kBuild);
  works({"index", "optimise", "m.ria", "--max_memory", "1GB"});
  EXPECT_NE(works({"index", "info", "m.ria"}).find("search          exact\n"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "m.ria.search"));
}

TEST_F(OptimiseTest, SaysWhatIsMissingBeforeAnyWork) {
  at_.env["RIA_PLUGIN_DIR"] = folder_.string();
  for (const std::string kind : {"ivfpq", "hnsw"}) {
    refused(1, kBuild + Args{"--search", kind}, {"--search " + kind, "libfaiss-dev"});
  }
}

TEST_F(OptimiseTest, WrongChoicesAreRefused) {
  works(kBuild);
  refused(2,
          {"index", "optimise", "m.ria", "--search", "quick"},
          {"'quick'", "exact, ivfpq, hnsw or auto was expected"});
  refused(2, {"index", "optimise", "m.ria", "--max_memory", "3"}, {"max_memory"});
  refused(1, {"index", "optimise", "none.ria"}, {"none.ria"});
}

}  // namespace
}  // namespace ria::cli_test
