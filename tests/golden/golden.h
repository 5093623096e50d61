// SPDX-License-Identifier: MIT
// Where the golden fixtures are. A test that needs them starts with RIA_NEEDS_GOLDEN(name).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#ifndef RIA_SOURCE_DIR
#define RIA_SOURCE_DIR "."
#endif

namespace ria {

inline std::filesystem::path golden_dir() {
  const char* folder = std::getenv("RIA_GOLDEN_DIR");
  if (folder != nullptr && *folder != '\0') return std::filesystem::absolute(folder);
  return std::filesystem::path(RIA_SOURCE_DIR) / ".." / "shared" / "golden";
}

/// What is published by others and needs no case: ground truth, vocabularies, pictures. It is
/// beside the goldens, or where they are by default.
inline std::filesystem::path beside_goldens(const std::string& name) {
  const std::filesystem::path beside = golden_dir() / ".." / name;
  if (std::filesystem::exists(beside)) return beside;
  return std::filesystem::path(RIA_SOURCE_DIR) / ".." / "shared" / name;
}

inline std::filesystem::path data_dir() {
  const char* folder = std::getenv("RIA_DATA_DIR");
  if (folder != nullptr && *folder != '\0') return std::filesystem::absolute(folder);
  return beside_goldens("data");
}

inline nlohmann::json load_case(const std::string& name) {
  const std::filesystem::path file = golden_dir() / name / "case.json";
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return nlohmann::json::parse(in);
}

}  // namespace ria

/// Skips, visibly, where the fixtures of the case are not installed.
#define RIA_NEEDS_GOLDEN(name)                                                          \
  if (!std::filesystem::exists(::ria::golden_dir() / (name) / "case.json"))             \
  GTEST_SKIP() << "no golden case " << (name) << " in " << ::ria::golden_dir().string() \
               << " (set RIA_GOLDEN_DIR)"
