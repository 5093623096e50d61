// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/flags.h"
#include "ria/verify.h"
#include "ria/weights.h"
#include "util/json.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json check_json(const WeightsCheck& check) {
  json bad = json::array();
  for (const NonFiniteTensor& tensor : check.non_finite) {
    bad.push_back(
        {{"name", tensor.name}, {"nans", tensor.nans}, {"infinities", tensor.infinities}});
  }
  return {{"file", check.file.string()},
          {"sha256", check.sha256},
          {"expected_sha256", check.expected},
          {"hash_matches", check.hash_matches()},
          {"tensors", check.tensors},
          {"parameters", check.values},
          {"non_finite", bad},
          {"good", check.good()}};
}

void print_check(const WeightsCheck& check) {
  fmt::print("file          {}\nsha256        {}\n", check.file.string(), check.sha256);
  fmt::print("record        {}\n",
             check.expected.empty() ? "none to compare with"
             : check.hash_matches() ? "the same"
                                    : "differs: " + check.expected + " was expected");
  fmt::print("tensors       {}\nparameters    {}\n", check.tensors, check.values);
  fmt::print("not finite    {}\n", check.non_finite.empty() ? "none" : "");
  for (const NonFiniteTensor& tensor : check.non_finite) {
    fmt::print("  {:<44} {} NaN, {} infinite\n", tensor.name, tensor.nans, tensor.infinities);
  }
}

json comparison_json(const PrecisionComparison& all) {
  json rows = json::array();
  for (const PictureAgreement& one : all.pictures) {
    rows.push_back({{"name", one.name},
                    {"patches_mean", one.patches_mean},
                    {"patches_worst", one.patches_worst},
                    {"descriptor", one.descriptor}});
  }
  return {{"patches_mean", all.patches_mean},
          {"patches_worst", all.patches_worst},
          {"descriptor_mean", all.descriptor_mean},
          {"descriptor_worst", all.descriptor_worst},
          {"pictures", rows}};
}

/// One line on what is wrong with the file, for standard error.
std::string complaint(const WeightsCheck& check) {
  if (!check.hash_matches()) {
    return fmt::format("{} is not what was recorded: its sha256 is {}, {} was expected",
                       check.file.string(),
                       check.sha256,
                       check.expected);
  }
  return fmt::format("{} has {} tensors with values that are not finite, the first: {}",
                     check.file.string(),
                     check.non_finite.size(),
                     check.non_finite.front().name);
}

struct Verify {
  std::string file, name, precision, pictures, method, backbone;
  int num_threads = 0;
  bool as_json = false;

  /// The method asked for, or the first that these weights are for.
  std::string chosen_method(const WeightsCheck& check) const {
    if (!method.empty()) return find_method(method).name;
    const std::string stem = check.file.stem().string();
    for (const Method& row : methods()) {
      const bool fits = !backbone.empty()
                            ? row.backbone == backbone
                            : !row.weights.empty() && (row.weights == name || row.weights == stem);
      if (fits) return row.name;
    }
    if (!backbone.empty()) {
      throw std::invalid_argument(
          fmt::format("no method has the backbone '{}' (see 'ria methods')", backbone));
    }
    throw std::invalid_argument(
        "--precision needs --method or --backbone: the weights do not tell");
  }

  PrecisionComparison compare(const WeightsCheck& check) const {
    MethodOptions reference;
    reference.backbone.weights = check.file.string();
    MethodOptions other = reference;
    other.backbone.precision = parse_precision(precision);
    RunOptions run = run_options("comparing", num_threads);
    const auto found = list_pictures(pictures);
    if (fs::is_directory(pictures)) run.names_relative_to = pictures;
    PrecisionComparison all =
        compare_precisions(chosen_method(check), reference, other, found, run);
    report_failures(all.failures, found.size());
    return all;
  }

  void print(const WeightsCheck& check, const PrecisionComparison* compared) const {
    if (as_json) {
      json all = check_json(check);
      if (compared != nullptr) {
        all["precision"] = precision;
        all["method"] = chosen_method(check);
        all["comparison"] = comparison_json(*compared);
      }
      fmt::print("{}\n", json_text(all, 2));
      return;
    }
    print_check(check);
    if (compared == nullptr) return;
    fmt::print("\n{} against fp32 on {} pictures with {}\n",
               precision,
               compared->pictures.size(),
               chosen_method(check));
    fmt::print("                mean      worst\n");
    fmt::print("patch features  {:.6f}  {:.6f}\n", compared->patches_mean, compared->patches_worst);
    fmt::print(
        "descriptors     {:.6f}  {:.6f}\n", compared->descriptor_mean, compared->descriptor_worst);
  }

  void run() const {
    if (precision.empty() != pictures.empty()) {
      throw std::invalid_argument("--precision and --pictures go together");
    }
    if (precision.empty() && !(method.empty() && backbone.empty())) {
      throw std::invalid_argument("--method and --backbone need --precision");
    }
    if (!precision.empty()) parse_precision(precision);
    if (!method.empty()) find_method(method);
    const WeightsCheck check = verify_weights(file, name);
    if (!precision.empty() && check.good()) {
      const PrecisionComparison compared = compare(check);
      return print(check, &compared);
    }
    print(check, nullptr);
    if (!check.good()) throw std::runtime_error(complaint(check));
  }
};

}  // namespace

void add_weights_verify(CLI::App& weights) {
  auto state = std::make_shared<Verify>();
  CLI::App* command = weights.add_subcommand(
      "verify", "Read all of a weight file: hash, values, and what a cheaper precision changes");
  command->add_option("file", state->file, "weight file, or a name in the cache")
      ->required()
      ->type_name("NAME|FILE");
  command->add_option("--name", state->name, "compare the file with what is known of this name")
      ->type_name("NAME");
  command->add_option("--precision", state->precision, "compare int8 or bf16 with fp32")
      ->type_name("NAME");
  command->add_option("--pictures", state->pictures, "pictures to compare on")->type_name("FOLDER");
  CLI::Option* method =
      command->add_option("--method", state->method, "method to compare with")->type_name("NAME");
  command->add_option("--backbone", state->backbone, "the first method of this backbone instead")
      ->excludes(method)
      ->type_name("NAME");
  command->add_option("--num_threads", state->num_threads, "threads; 0: all cores")
      ->capture_default_str();
  command->add_flag("--json", state->as_json, "as JSON, with a row for each picture");
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
