// SPDX-License-Identifier: MIT
#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "util/nearest_name.h"

namespace ria::cli {

namespace {

/// The subcommand that was given, below all others.
const CLI::App& chosen(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : chosen(*given[0]);
}

/// "ria index build"
std::string full_name(const CLI::App& app) {
  const CLI::App* above = app.get_parent();
  return above == nullptr ? app.get_name() : full_name(*above) + " " + app.get_name();
}

std::string help_of(const CLI::App& command) { return full_name(command) + " --help"; }

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands({})) {
    if (!below->get_group().empty()) names.push_back(below->get_name());  // else it is hidden
  }
  return names;
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool is_flag(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// What is wrong with the words that nobody took, if anything is.
std::string leftover_text(const CLI::App& program, const CLI::App& command) {
  const std::vector<std::string> words = program.remaining(true);
  if (words.empty()) return "";
  const std::vector<std::string> below = subcommands_of(command);
  if (!is_flag(words[0]) && !below.empty()) return unknown_name("subcommand", words[0], below);
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  if (flag == words.end()) {
    return fmt::format("'{}' was not expected (see '{}')", words[0], help_of(command));
  }
  return unknown_name(
      "flag", flag->substr(0, flag->find('=')), flags_of(command), help_of(command));
}

/// "a number", for the type that CLI11 gives an option.
std::string expected(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return "another value";
  const std::string type = option->get_expected_max() == 0 ? "BOOLEAN" : option->get_type_name();
  if (type == "INT") return "a whole number";
  if (type == "UINT") return "a whole number from 0 up";
  if (type == "FLOAT") return "a number";
  if (type == "BOOLEAN") return "true or false";
  return type;
}

/// CLI11 says "Could not convert: --d = many", "--d: 1 required INT missing" and "--d: At Most 1
/// required but received 2".
std::string value_text(const CLI::App& command, const std::string& said) {
  const std::string kConversion = "Could not convert: ", kEquals = " = ", kMissing = " missing";
  const std::size_t equals = said.find(kEquals);
  if (said.starts_with(kConversion) && equals != said.npos) {
    const std::string name = said.substr(kConversion.size(), equals - kConversion.size());
    return fmt::format("{} is '{}', {} was expected",
                       name,
                       said.substr(equals + kEquals.size()),
                       expected(command, name));
  }
  const std::string name = said.substr(0, said.find(':'));
  if (said.ends_with(kMissing) && command.get_option_no_throw(name) != nullptr) {
    return fmt::format("{} has no value, {} was expected", name, expected(command, name));
  }
  int most = 0, given = 0;
  const std::string rest = said.substr(name.size());
  if (std::sscanf(rest.c_str(), ": At Most %d required but received %d", &most, &given) == 2) {
    return fmt::format("{} has {} values, at most {} was expected", name, given, most);
  }
  return said;
}

}  // namespace

std::string usage_text(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = chosen(program);
  const std::string leftover = leftover_text(program, command);
  if (!leftover.empty()) return leftover;
  if (command.get_require_subcommand_min() > 0) {
    return fmt::format("a subcommand of '{}' was expected: {}",
                       full_name(command),
                       fmt::join(subcommands_of(command), ", "));
  }
  return fmt::format("{} (see '{}')", value_text(command, error.what()), help_of(command));
}

}  // namespace ria::cli
