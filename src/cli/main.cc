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
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "ria/recognizer.h"
#include "ria/version.h"
#include "ria/weights.h"

namespace {

using namespace ria::cli;

constexpr int kWorldError = 1;
constexpr int kUsageError = 2;

/// How the program ends; nothing is said where it went well.
struct End {
  int code = 0;
  std::string message;
};

/// --version on the program and on every subcommand below it.
void add_version(CLI::App& app) {
  app.set_version_flag(
      "--version", std::string("ria ") + RIA_VERSION, "Print the version and exit");
  for (CLI::App* below : app.get_subcommands({})) add_version(*below);
}

End parse_and_run(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
    if (std::fflush(stdout) != 0) {
      throw std::runtime_error(
          fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
    return {};
  } catch (const CLI::Success& help_or_version) {
    return {program.exit(help_or_version), ""};
  } catch (const CLI::ParseError& error) {
    return {kUsageError, usage_text(program, error)};
  }
}

End run(CLI::App& program, int argc, char** argv) {
  try {
    watch_for_interrupts();
    return parse_and_run(program, argc, argv);
  } catch (const ria::Interrupted& error) {
    return {kInterruptedExit, interrupted_text(error.what())};
  } catch (const CommandInterrupted& error) {
    return {kInterruptedExit, interrupted_text(error.what())};
  } catch (const ria::DownloadInterrupted& error) {
    return {kInterruptedExit, interrupted_text(error.what())};
  } catch (const std::invalid_argument& error) {
    return {kUsageError, error.what()};
  } catch (const std::bad_alloc&) {
    return {kWorldError, "out of memory"};
  } catch (const std::exception& error) {
    return {kWorldError, error.what()};
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Visual place recognition: which of the places I know is this?", "ria"};
  program.require_subcommand(1);
  program.get_formatter()->column_width(36);
  remember_command_line(argc, argv);
  for (const auto add : {add_describe,
                         add_index,
                         add_query,
                         add_eval,
                         add_loop,
                         add_serve,
                         add_datasets,
                         add_study,
                         add_methods,
                         add_weights,
                         add_vocabulary,
                         add_train,
                         add_simulate,
                         add_demo,
                         add_manual}) {
    add(program);
  }
  add_version(program);
  const End end = run(program, argc, argv);
  command_has_ended();
  if (!end.message.empty())
    fmt::print(stderr, "{}ria: {}\n", progress_line_end(), without_passwords(end.message));
  return end.code;
}
