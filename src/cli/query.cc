// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "util/json.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;
/// What is printed of a match.
struct Answer {
  std::string place;
  Match match;
};
using Answers = std::vector<std::vector<Answer>>;

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

void print_table(const Descriptions& queries, const Answers& answers) {
  std::size_t query_width = 5;
  for (const std::string& name : queries.names) query_width = std::max(query_width, name.size());
  query_width = std::min<std::size_t>(query_width, std::max(20, terminal_width() / 2 - 12));
  const auto shortened = [&](const std::string& text) {
    return text.size() <= query_width ? text : "..." + text.substr(text.size() - query_width + 3);
  };
  fmt::print("{:<{}}  rank  score   place\n", "query", query_width);
  for (std::size_t q = 0; q < answers.size(); ++q) {
    for (std::size_t rank = 0; rank < answers[q].size(); ++rank) {
      const Answer& answer = answers[q][rank];
      fmt::print("{:<{}}  {:>4}  {:.4f}  {}\n",
                 rank == 0 ? shortened(queries.names[q]) : "",
                 query_width,
                 rank + 1,
                 answer.match.score,
                 answer.place);
    }
  }
}

void print_json(const Descriptions& queries, const Answers& answers) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t q = 0; q < answers.size(); ++q) {
    nlohmann::json matches = nlohmann::json::array();
    for (const auto& [place, match] : answers[q]) {
      matches.push_back({{"place", place}, {"index", match.place}, {"score", match.score}});
    }
    list.push_back({{"query", queries.names[q]}, {"matches", matches}});
  }
  fmt::print("{}\n", json_text(list, 2));
}

struct Query {
  std::string map_file, path, method;
  int k = 5;
  bool json = false, csv = false, pairs = false;
  MethodFlags flags;

  void print(const Descriptions& queries, const Answers& answers) const {
    if (json) return print_json(queries, answers);
    if (!csv && !pairs) return print_table(queries, answers);
    if (csv) fmt::print("query,rank,place,score\n");
    for (std::size_t q = 0; q < answers.size(); ++q) {
      for (std::size_t rank = 0; rank < answers[q].size(); ++rank) {
        const auto& [place, match] = answers[q][rank];
        if (pairs) {
          fmt::print("{} {}\n", queries.names[q], place);
        } else {
          fmt::print("{},{},{},{:.6f}\n",
                     csv_field(queries.names[q]),
                     rank + 1,
                     csv_field(place),
                     match.score);
        }
      }
    }
  }

  /// Another process may remove a place between being found and being named.
  Answers answer(Map& map,
                 const Recognizer& recognizer,
                 const Descriptions& queries,
                 const RunOptions& options) const {
    for (;;) {
      try {
        Answers answers;
        for (const auto& matches : recognizer.search(map, queries, k, options)) {
          answers.emplace_back();
          for (const Match& match : matches) {
            answers.back().push_back({map.place(match.place).name, match});
          }
        }
        return answers;
      } catch (const std::invalid_argument&) {
        if (!map.refresh()) throw;
      }
    }
  }

  void run() const {
    if (k < 1) throw std::invalid_argument(fmt::format("-k is {}, at least 1 was expected", k));
    Map map = Map::open(map_file);
    if (!method.empty() && method != map.header().method) {
      throw std::runtime_error(fmt::format(
          "{} was made with {}, not with {}", map.file().string(), map.header().method, method));
    }
    const auto pictures = list_pictures(path);
    RunOptions options = run_options("describing", flags.num_threads());
    if (fs::is_directory(path)) options.names_relative_to = path;
    const Recognizer recognizer = recognizer_of(map, flags.options().backbone);
    const Descriptions all = recognizer.describe(pictures, options);
    report_failures(all.failures, pictures.size());
    const Descriptions good = all.without_failures();
    print(good, answer(map, recognizer, good, options));
  }
};

}  // namespace

void add_query(CLI::App& program) {
  auto state = std::make_shared<Query>();
  CLI::App* command = program.add_subcommand("query", "Say which known places pictures show");
  command->add_option("map", state->map_file, "map file")->required()->type_name("MAP");
  command->add_option("path", state->path, "picture or folder")
      ->required()
      ->type_name("PICTURE|FOLDER");
  command->add_option("-k", state->k, "answers for each picture")->capture_default_str();
  CLI::Option* json = command->add_flag("--json", state->json, "answers as JSON");
  CLI::Option* csv = command->add_flag("--csv", state->csv, "answers as CSV")->excludes(json);
  command->add_flag("--pairs", state->pairs, "'query place' lines, as hloc and COLMAP read them")
      ->excludes(json)
      ->excludes(csv);
  command->add_option("--method", state->method, "refuse a map that another method made")
      ->type_name("NAME");
  state->flags.add_runtime(*command);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
