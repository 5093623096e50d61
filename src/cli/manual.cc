// SPDX-License-Identifier: MIT
// The commands and flags as others show them: a manual page, the shells' completions, and JSON for
// the documentation. All is read from the program's own commands, so that none can differ from
// --help.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "ria/version.h"

namespace ria::cli {

namespace {

/// What may stand on the command line.
struct Word {
  std::vector<std::string> names;  ///< "-k", "--num_threads"; one for a positional or a subcommand
  std::string value;               ///< "FILE", "INT:5"; empty: it takes none
  std::string text;
  std::string group;
  bool positional = false;
  bool required = false;
};

struct Command {
  std::string name;  ///< "ria index build"
  std::string text;
  std::vector<Word> flags;
  std::vector<Word> below;  ///< its subcommands, as words with a text
};

Word flag_of(const CLI::Option& option) {
  Word flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.positional = flag.names.empty();
  if (flag.positional) flag.names.push_back(option.get_name());
  if (option.get_expected_max() > 0) flag.value = option.get_type_name();
  if (!flag.value.empty() && !option.get_default_str().empty()) {
    flag.value += "=" + option.get_default_str();
  }
  flag.text = option.get_description();
  flag.group = option.get_group();
  flag.required = option.get_required();
  return flag;
}

/// Groups one after the other, as --help has them, each where its first flag is.
void gather_groups(std::vector<Word>& flags) {
  std::vector<std::string> groups;
  for (const Word& flag : flags) groups.push_back(flag.group);
  std::stable_sort(flags.begin(), flags.end(), [&](const Word& a, const Word& b) {
    const auto place = [&](const Word& flag) {
      return std::find(groups.begin(), groups.end(), flag.group);
    };
    return place(a) < place(b);
  });
}

/// A command and all below it, but for what has no group: that is not shown by --help either.
void collect(const CLI::App& app, const std::string& above, std::vector<Command>& all) {
  Command command{above + app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) command.flags.push_back(flag_of(*option));
  }
  gather_groups(command.flags);
  std::vector<const CLI::App*> shown = app.get_subcommands({});
  std::erase_if(shown, [](const CLI::App* one) { return one->get_group().empty(); });
  for (const CLI::App* one : shown) {
    command.below.push_back({{one->get_name()}, "", one->get_description(), ""});
  }
  all.push_back(command);
  for (const CLI::App* one : shown) collect(*one, command.name + " ", all);
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

/// "ria query MAP PATH"
std::string synopsis(const Command& command) {
  std::string text = command.name;
  if (!command.below.empty()) return text + " COMMAND";
  for (const Word& flag : command.flags) {
    if (flag.required)
      text += " " + joined(flag.names, "|") + (flag.positional ? "" : " " + flag.value);
  }
  return text + " [OPTIONS]";
}

void print_json(const std::vector<Command>& commands) {
  nlohmann::json all = nlohmann::json::array();
  for (const Command& command : commands) {
    nlohmann::json flags = nlohmann::json::array();
    for (const Word& flag : command.flags) {
      flags.push_back({{"names", flag.names},
                       {"value", flag.value},
                       {"text", flag.text},
                       {"group", flag.group},
                       {"positional", flag.positional},
                       {"required", flag.required}});
    }
    std::vector<std::string> below;
    for (const Word& word : command.below) below.push_back(word.names[0]);
    all.push_back({{"name", command.name},
                   {"text", command.text},
                   {"synopsis", synopsis(command)},
                   {"flags", flags},
                   {"below", below}});
  }
  fmt::print("{}\n", all.dump(1));
}

/// Plain text in a manual page: a dash is a dash and no line begins a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '.' && (out.empty() || out.back() == '\n')) {
      out += "\\&.";
    } else {
      out += c;
    }
  }
  return out;
}

void print_man_flags(const Command& command) {
  std::string group;
  for (const Word& flag : command.flags) {
    if (!flag.positional && flag.group != group && flag.group != "Options") {
      fmt::print(".PP\n{}:\n", roff(flag.group));
    }
    if (!flag.positional) group = flag.group;
    fmt::print(".TP\n\\fB{}\\fR", roff(joined(flag.names, ", ")));
    if (!flag.value.empty()) fmt::print(" \\fI{}\\fR", roff(flag.value));
    fmt::print("\n{}\n", roff(flag.text));
  }
}

void print_man(const std::vector<Command>& commands) {
  fmt::print(".TH RIA 1 \"\" \"ria {}\" \"User Commands\"\n", RIA_VERSION);
  fmt::print(".SH NAME\nria \\- visual place recognition\n.SH SYNOPSIS\n");
  fmt::print(".B ria\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
             roff(commands[0].text));
  for (const Command& command : commands) {
    fmt::print(".SS {}\n{}\n", roff(synopsis(command)), roff(command.text));
    print_man_flags(command);
  }
  fmt::print(
      ".SH EXIT STATUS\n0: done; 1: something in the world was wrong; 2: wrong usage; 130: "
      "interrupted.\n");
  fmt::print(
      ".SH FILES\n.TP\n$XDG_CACHE_HOME/ria\nweights, and what an interrupted run keeps for the "
      "next\n");
}

/// What a shell offers behind a command.
std::vector<Word> words_of(const Command& command) {
  std::vector<Word> words = command.below;
  for (const Word& flag : command.flags) {
    if (!flag.positional) words.push_back(flag);
  }
  return words;
}

/// Both shells find the command in the same way: the words so far that name one below another.
void print_walk(const std::vector<Command>& commands, const char* word_at) {
  std::vector<std::string> below;
  for (const Command& command : commands) {
    if (&command != &commands[0]) below.push_back("'" + command.name + "'");
  }
  fmt::print("  local command=ria i\n  for ((i = {}; i++)); do\n", word_at);
  fmt::print(
      "    case \"$command ${{words[i]}}\" in\n      {}) command+=\" ${{words[i]}}\" ;;\n    "
      "esac\n  done\n",
      joined(below, " | "));
}

void print_bash(const std::vector<Command>& commands) {
  fmt::print("# bash completion of ria {}\n_ria() {{\n", RIA_VERSION);
  fmt::print(
      "  local current=${{COMP_WORDS[COMP_CWORD]}} offered words=(\"${{COMP_WORDS[@]}}\")\n");
  print_walk(commands, "1; i < COMP_CWORD");
  fmt::print("  case $command in\n");
  for (const Command& command : commands) {
    fmt::print("    '{}') offered='", command.name);
    for (const Word& word : words_of(command)) fmt::print("{} ", joined(word.names, " "));
    fmt::print("' ;;\n");
  }
  fmt::print("  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\")\n}}\n");
  fmt::print("complete -o bashdefault -o default -F _ria ria\n");  // files where nothing fits
}

std::string quoted_for_zsh(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? "'\\''" : c == ':' ? "\\:" : std::string(1, c);
  return out;
}

void print_zsh(const std::vector<Command>& commands) {
  fmt::print("#compdef ria\n# zsh completion of ria {}\n_ria() {{\n  local -a offered\n",
             RIA_VERSION);
  print_walk(commands, "2; i < CURRENT");
  fmt::print("  case $command in\n");
  for (const Command& command : commands) {
    fmt::print("    '{}') offered=(\n", command.name);
    for (const Word& word : words_of(command)) {
      for (const std::string& name : word.names) {
        fmt::print("      '{}:{}'\n", name, quoted_for_zsh(word.text));
      }
    }
    fmt::print("    ) ;;\n");
  }
  fmt::print("  esac\n  _describe ria offered || _files\n}}\n_ria \"$@\"\n");
}

}  // namespace

void add_manual(CLI::App& program) {
  auto format = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("manual", "Print all commands and flags")->group("");
  command->add_option("format", *format, "man, bash, zsh or json")
      ->required()
      ->check(CLI::IsMember({"man", "bash", "zsh", "json"}));
  command->callback([&program, format] {
    std::vector<Command> commands;
    collect(program, "", commands);
    if (*format == "man") print_man(commands);
    if (*format == "bash") print_bash(commands);
    if (*format == "zsh") print_zsh(commands);
    if (*format == "json") print_json(commands);
  });
}

}  // namespace ria::cli
