// SPDX-License-Identifier: MIT
// The program as a user meets it: exit codes, one line for an error, whole files or none.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "ria/ria.h"
#include "support/run_program.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria::cli_test {

namespace fs = std::filesystem;

inline constexpr char kProgram[] = RIA_BINARY_DIR "/ria";
// Small pictures and no network: milliseconds a picture.
inline const Args kFast = {"--method", "rootsift-gem", "--longest_side", "64"};
inline const Args kFastRia = {"--method", "rootsift-ria", "--longest_side", "96", "--d", "16"};

/// Four different places, rendered once a process.
inline const std::vector<Image>& street() {
  static const std::vector<Image> images = [] {
    std::vector<Image> made;
    for (int i = 0; i < 4; ++i) {
      made.push_back(render_street({1.75, 40.0 * i}, Condition::kDay, 120, 160, 7));
    }
    return made;
  }();
  return images;
}

/// The values of a .npy file that must be little-endian floats in rows; checks the header.
inline Matrix read_rows(const fs::path& file) {
  const std::string bytes = read_text(file);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t start = bytes.find('\n') + 1;
  EXPECT_EQ(start % 64, 0u);
  int rows = 0, columns = 0;
  EXPECT_EQ(std::sscanf(bytes.c_str() + 10,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }",
                        &rows,
                        &columns),
            2);
  Matrix m(rows, columns);
  EXPECT_EQ(bytes.size() - start, m.size() * sizeof(float));
  std::memcpy(m.data(), bytes.data() + start, bytes.size() - start);
  return m;
}

/// `ria` in an empty working folder with a cache of its own.
class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    at_.folder = folder_;
    at_.env["XDG_CACHE_HOME"] = (base_ / "cache").string();
  }

  Result ria(const Args& args) const { return Program(kProgram, args, at_).wait(); }

  /// Runs what must work; returns its standard output.
  std::string works(const Args& args) const {
    const Result result = ria(args);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(complaints(result.err), Args{});
    return result.out;
  }

  /// Runs what must be refused: this exit code, one line with all these parts, no file made,
  /// changed or left.
  void refused(int exit_code, const Args& args, const Args& parts) const {
    SCOPED_TRACE(fmt::format("ria {}", fmt::join(args, " ")));
    const auto before = contents();
    const Result result = ria(args);
    EXPECT_EQ(result.exit_code, exit_code);
    const auto said = complaints(result.err);
    ASSERT_EQ(said.size(), 1u) << result.err;
    EXPECT_TRUE(said[0].starts_with("ria: ")) << said[0];
    for (const std::string& part : parts) EXPECT_NE(said[0].find(part), said[0].npos) << said[0];
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(unfinished(), 0);
  }

  /// Every file below the working folder with a hash of what it holds, and every folder.
  std::map<std::string, std::size_t> contents() const {
    std::map<std::string, std::size_t> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = fs::relative(entry.path(), folder_).string();
      all[name] = entry.is_regular_file() ? std::hash<std::string>()(read_text(entry.path())) : 0;
    }
    return all;
  }

  int unfinished() const {
    std::error_code none;
    const fs::directory_iterator files(cache_ / "unfinished", none);
    return static_cast<int>(std::distance(begin(files), end(files)));
  }

  /// A folder of `count` pictures, p000.png and so on; returns its name.
  std::string pictures(const std::string& name = "pictures", int count = 4) const {
    fs::create_directories(folder_ / name);
    for (int i = 0; i < count; ++i) {
      const fs::path file = folder_ / name / fmt::format("p{:03}.png", i);
      if (i < 4) {
        save_image(file, street()[i]);
      } else {
        fs::copy_file(folder_ / name / fmt::format("p{:03}.png", i % 4), file);
      }
    }
    return name;
  }

  std::string index(const Args& method = kFast, const std::string& name = "places.ria") const {
    works(Args{"index", "build", pictures(), "--out", name} + method);
    return name;
  }

  // The cache stands beside the working folder, so that listings show outputs only.
  TemporaryFolder base_;
  const fs::path folder_ = base_ / "work";
  const fs::path cache_ = base_ / "cache" / "ria";
  Surroundings at_;
};

}  // namespace ria::cli_test
