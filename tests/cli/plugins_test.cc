// SPDX-License-Identifier: MIT
// `ria` without its plugins, and with plugins that are damaged or not its own.
#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

constexpr char kHdf5Plugin[] = RIA_BINARY_DIR "/libria-hdf5.so";
constexpr char kCurlPlugin[] = RIA_BINARY_DIR "/libria-curl.so";

class PluginsTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    fs::create_directories(plugins_);
    at_.env["RIA_PLUGIN_DIR"] = plugins_.string();
    pictures();
  }

  /// Only plugins stand in the way of what is asked.
  void h5_refused(const std::string& plugin, const Args& parts) const {
    spill(hdf5_, plugin);
    refused(1, describe_ + Args{"--out", "x.h5"}, Args{"ria: writing x.h5 needs HDF5: "} + parts);
  }

  /// The text, which occurs in the file once, replaced by another of the same length.
  static std::string changed(std::string file, const std::string& from, const std::string& to) {
    const std::size_t at = file.find(from);
    EXPECT_NE(at, file.npos);
    EXPECT_EQ(file.find(from, at + 1), file.npos);
    return file.replace(at, to.size(), to);
  }

  const fs::path plugins_ = base_ / "plugins";
  const fs::path hdf5_ = plugins_ / "libria-hdf5.so";
  const Args describe_ = Args{"describe", "pictures"} + kFast;
};

TEST_F(PluginsTest, MissingOnesAreNamedAndNotMissedElsewhere) {
  refused(1,
          describe_ + Args{"--out", "x.h5"},
          {"writing x.h5 needs HDF5: libria-hdf5.so is not in " + plugins_.string()});
  refused(1,
          {"weights", "get", "mine", "--url", "http://127.0.0.1:1/w.pth"},
          {"downloading http://127.0.0.1:1/w.pth needs libcurl: libria-curl.so is not in " +
           plugins_.string()});
  EXPECT_FALSE(fs::exists(cache_ / "downloads"));
  works(describe_ + Args{"--out", "x.npy"});
}

TEST_F(PluginsTest, MissingOnesAreNoticedBeforeTheWork) {
  refused(1, {"describe", "pictures", "--out", "x.h5", "--method", "resnet50-gem"}, {"HDF5"});
}

TEST_F(PluginsTest, AreFoundInAFolderOfChoice) {
  fs::copy_file(kHdf5Plugin, hdf5_);
  works(describe_ + Args{"--out", "x.h5"});
  at_.env["RIA_PLUGIN_DIR"] = "../plugins";
  works(describe_ + Args{"--out", "x.h5"});
}

TEST_F(PluginsTest, LibrariesTheyMissAreNamed) {
  h5_refused(changed(read_text(kHdf5Plugin), "libhdf5_", "libnone_"),
             {"libnone_", " is missing; apt-get install libhdf5"});
}

TEST_F(PluginsTest, DamagedOnesAreNamed) {
  const std::string whole = read_text(kHdf5Plugin);
  for (const std::size_t size : {std::size_t(0),
                                 std::size_t(60),
                                 std::size_t(64),
                                 std::size_t(4000),
                                 whole.size() / 2,
                                 whole.size() - 1}) {
    h5_refused(whole.substr(0, size), {hdf5_.string(), "install ria again"});
  }
  h5_refused(std::string(10'000, 'x'), {hdf5_.string(), "install ria again"});
}

TEST_F(PluginsTest, OnesOfAnotherVersionAreRefused) {
  const std::string version = RIA_VERSION;
  const std::string other(version.size(), '7');
  h5_refused(changed(read_text(kHdf5Plugin), version + '\0', other + '\0'),
             {hdf5_.string() + " is of ria " + other, version + " was expected"});
}

TEST_F(PluginsTest, OnesOfAnotherNameAreRefused) {
  h5_refused(read_text(kCurlPlugin), {hdf5_.string() + " is no plugin of ria"});
}

}  // namespace
}  // namespace ria::cli_test
