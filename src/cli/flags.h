// SPDX-License-Identifier: MIT
// Flags that several subcommands share. A flag, the C++ field and the JSON key carry one name.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ria/method.h"
#include "ria/recognizer.h"
#include "ria/shard.h"

namespace ria::cli {

/// --method and everything a method can be told.
class MethodFlags {
 public:
  /// `many`: --method may be given several times.
  void add(CLI::App& command, bool many);
  /// Only the flags that choose weights and threads: what a command with a ready map needs.
  void add_runtime(CLI::App& command);

  /// The methods as choose_method() reads them; throws std::invalid_argument naming the flag.
  std::vector<std::string> methods() const;
  /// What the flags say; throws std::invalid_argument naming the flag.
  MethodOptions options() const;
  int num_threads() const { return num_threads_; }

 private:
  void add_choice(CLI::App& command, bool many);
  void add_head(CLI::App& command);
  void add_behind_head(CLI::App& command);
  void add_image(CLI::App& command);
  void add_network(CLI::App& command);
  void add_onnx(CLI::App& command);

  std::vector<std::string> methods_;
  std::string backbone_, aggregator_;
  int descriptors_dimension_ = 0;
  MethodOptions options_;
  std::optional<int> d_;
  std::string estimator_ = to_string(RiaOptions{}.estimator);
  std::string mapping_ = to_string(RiaOptions{}.mapping);
  std::string gem_sign_;
  std::string normalize_patches_ = "true";
  std::string precision_ = to_string(BackboneOptions{}.precision);
  std::optional<int> layer_;
  std::string facet_;
  std::string position_rule_;
  std::vector<int> image_size_;
  int num_threads_ = 0;
};

/// The recogniser that a map was made with. What is wrong with the map is the file's fault, not the
/// caller's: std::runtime_error naming it.
Recognizer recognizer_of(const Map& map, const BackboneOptions& backbone);

/// --shard
class ShardFlag {
 public:
  void add(CLI::App& command);
  /// The pictures of the part that was asked for, as the recogniser takes them. Throws
  /// std::invalid_argument naming what would be fitted on the descriptors of all.
  std::vector<std::filesystem::path> of(const std::vector<std::filesystem::path>& pictures,
                                        const Recognizer& recognizer) const;

 private:
  std::string text_;
};

/// --ignore_orientation
CLI::Option* add_ignore_orientation(CLI::App& command, bool& field);

/// Threads, progress on the terminal under this label, and Ctrl-C.
RunOptions run_options(const std::string& label, int num_threads);

/// What went wrong with a picture, with its name.
std::string failure_text(const Failure& failure);

/// One line a failed picture on standard error, and a count. Throws std::runtime_error if all
/// failed.
void report_failures(const std::vector<Failure>& failures, std::size_t total);

/// The command line as typed, for records.
void remember_command_line(int argc, char** argv);
const std::string& command_line();
/// Text that may name a server as it was typed, without the password.
std::string without_passwords(std::string text);

/// Writes text to a file, or to standard output for "-".
void write_output(const std::string& file, const std::string& text);

}  // namespace ria::cli
