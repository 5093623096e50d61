// SPDX-License-Identifier: MIT
// What a golden case holds: its case.json, inputs, outputs, tolerances and weight files. Tests take
// shapes, names and options from here, so that another case of the same form runs unchanged.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "tensor/tensor.h"

namespace ria {

class GoldenCase {
 public:
  explicit GoldenCase(const std::string& name)
      : folder_(golden_dir() / name),
        info_(load_case(name)),
        inputs_(open_if_given("inputs.safetensors")),
        outputs_(open_if_given("outputs.safetensors")) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::string name() const { return folder_.filename().string(); }
  const nlohmann::json& info() const { return info_; }
  const nlohmann::json& config() const { return info_.at("config"); }
  const TensorFile& inputs() const { return inputs_; }
  const TensorFile& outputs() const { return outputs_; }
  double atol(const std::string& key) const { return info_.at("tolerance").at(key).at("atol"); }

  /// The weight files that case.json names and that are there. A list gives "file (what it is)"; an
  /// object has the file as the key or, if that is a role, at the start of the value. The "<name>"
  /// in a file stands for each network of the config.
  std::vector<std::filesystem::path> weight_files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& [key, value] : info_.at("weights").items()) {
      const bool keyed = key.find('.') != key.npos;
      const std::string file = keyed ? key : first_word(value.get<std::string>());
      const auto mark = file.find("<name>");
      if (mark == file.npos) {
        add_if_given(found, file);
        continue;
      }
      for (const auto& [network, settings] : config().items()) {
        add_if_given(found, std::string(file).replace(mark, 6, network));
      }
    }
    return found;
  }

  /// The first weight file whose content is the one asked for.
  template <typename Holds>
  std::optional<TensorFile> weights_where(Holds holds) const {
    for (const std::filesystem::path& path : weight_files()) {
      TensorFile file = TensorFile::open(path);
      if (holds(file)) return file;
    }
    return std::nullopt;
  }

  /// The files of the folder whose names start and end like this, sorted.
  std::vector<std::filesystem::path> files_like(const std::string& start,
                                                const std::string& end) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with(start) && file.ends_with(end)) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// What texts in case.json begin with: "dinov2_mlp of this set".
  static std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

 private:
  TensorFile open_if_given(const std::string& file) const {
    const std::filesystem::path path = folder_ / file;
    if (std::filesystem::exists(path)) return TensorFile::open(path);
    return {path, WeightFormat::safetensors, {}};
  }

  void add_if_given(std::vector<std::filesystem::path>& files, const std::string& file) const {
    if (std::filesystem::exists(folder_ / file)) files.push_back(folder_ / file);
  }

  std::filesystem::path folder_;
  nlohmann::json info_;
  TensorFile inputs_, outputs_;
};

/// Every case whose case.json satisfies, by name.
template <typename Is>
std::vector<GoldenCase> cases_where(Is is) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(golden_dir())) return {};
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir())) {
    const std::string name = entry.path().filename().string();
    if (std::filesystem::exists(entry.path() / "case.json") && is(load_case(name))) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return {names.begin(), names.end()};
}

/// A test that leaves a check out, because the case has nothing for it, runs all others and is then
/// reported as skipped with what was left out.
class GoldenTest : public ::testing::Test {
 protected:
  void leave_out(const std::string& what) { left_out_ += (left_out_.empty() ? "" : ", ") + what; }

  void TearDown() override {
    if (!left_out_.empty()) GTEST_SKIP() << "the case does not have: " << left_out_;
  }

 private:
  std::string left_out_;
};

/// Tests of the case of one name.
class GoldenCaseTest : public GoldenTest {
 protected:
  explicit GoldenCaseTest(std::string name) : name_(std::move(name)) {}

  void SetUp() override {
    RIA_NEEDS_GOLDEN(name_);
    case_.emplace(name_);
  }

  const GoldenCase& golden() const { return *case_; }
  const nlohmann::json& config() const { return case_->config(); }
  std::filesystem::path folder() const { return case_->folder(); }
  double atol(const std::string& key) const { return case_->atol(key); }
  const Tensor& input(const std::string& key) const { return case_->inputs().at(key); }
  const Tensor& output(const std::string& key) const { return case_->outputs().at(key); }

  /// Whether the case has the tensor; if not, its check is left out.
  bool has_input(const std::string& key) { return has(case_->inputs(), key, "input"); }
  bool has_output(const std::string& key) { return has(case_->outputs(), key, "output"); }

 private:
  bool has(const TensorFile& file, const std::string& key, const std::string& what) {
    if (!file.contains(key)) leave_out(what + " " + key);
    return file.contains(key);
  }

  std::string name_;
  std::optional<GoldenCase> case_;
};

}  // namespace ria
