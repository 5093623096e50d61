// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/flags.h"
#include "ria/recognizer.h"
#include "ria/version.h"
#include "ria/weights.h"

namespace {

constexpr int kWorldError = 1;
constexpr int kUsageError = 2;
constexpr int kInterrupted = 130;

int fail(int code, const std::string& message) {
  fmt::print(stderr, "ria: {}\n", message);
  return code;
}

/// --version on the program and on every subcommand below it.
void add_version(CLI::App& app) {
  app.set_version_flag(
      "--version", std::string("ria ") + RIA_VERSION, "Print the version and exit");
  for (CLI::App* below : app.get_subcommands({})) add_version(*below);
}

/// Whether the last subcommand that was given wants another.
bool awaits_subcommand(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app.get_require_subcommand_min() > 0 : awaits_subcommand(*given[0]);
}

int parse_and_run(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
    if (std::fflush(stdout) != 0) {
      throw std::runtime_error(
          fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
    return 0;
  } catch (const CLI::Success& help_or_version) {
    return program.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    const auto words = program.remaining(true);
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
        awaits_subcommand(program) && !words.empty()) {
      return fail(kUsageError, fmt::format("unknown subcommand '{}' (see --help)", words[0]));
    }
    return fail(kUsageError, fmt::format("{} (see --help)", error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Visual place recognition: which of the places I know is this?", "ria"};
  program.require_subcommand(1);
  program.get_formatter()->column_width(36);
  using namespace ria::cli;
  remember_command_line(argc, argv);
  for (const auto add : {add_describe,
                         add_index,
                         add_query,
                         add_eval,
                         add_datasets,
                         add_study,
                         add_methods,
                         add_weights,
                         add_vocabulary,
                         add_simulate,
                         add_demo}) {
    add(program);
  }
  add_version(program);
  try {
    return parse_and_run(program, argc, argv);
  } catch (const ria::Interrupted& error) {
    return fail(kInterrupted,
                fmt::format("{}; run the same command again to finish", error.what()));
  } catch (const ria::DownloadInterrupted& error) {
    return fail(kInterrupted,
                fmt::format("{}; run the same command again to finish", error.what()));
  } catch (const std::invalid_argument& error) {
    return fail(kUsageError, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kWorldError, "out of memory");
  } catch (const std::exception& error) {
    return fail(kWorldError, error.what());
  }
}
