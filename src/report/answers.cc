// SPDX-License-Identifier: MIT
#include "report/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

#include "report/markup.h"
#include "report/thumbnails.h"
#include "report/view.h"

namespace ria {

namespace {

constexpr std::size_t kMostMethods = 6;  // answering a query, one above the other
constexpr const char* kRightMark = "&#10003; right";
constexpr const char* kWrongMark = "&#10007; wrong";

bool first_is_right(const Dataset& dataset, const Evaluation& evaluation, int query) {
  const std::vector<Match>& matches = evaluation.predictions[query];
  return !matches.empty() && is_positive(dataset, query, matches.front().place);
}

/// One of each of `count` equal parts of the list, at `phase` (0..1) of the part.
std::vector<int> evenly_spaced(const std::vector<int>& from, std::size_t count, double phase) {
  if (count >= from.size()) return from;
  std::vector<int> taken;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = (static_cast<double>(i) + phase) / static_cast<double>(count);
    taken.push_back(from[static_cast<std::size_t>(at * static_cast<double>(from.size()))]);
  }
  return taken;
}

/// "right", or where the right answer was instead.
std::string verdict(const Dataset& dataset, const std::vector<Match>& matches, int query) {
  if (matches.empty()) return "&#10007; no answer";
  if (dataset.positives[query].empty()) return fmt::format("{}: place not in database", kWrongMark);
  const auto found = std::find_if(matches.begin(), matches.end(), [&](const Match& match) {
    return is_positive(dataset, query, match.place);
  });
  if (found == matches.begin()) return kRightMark;
  if (found == matches.end()) {
    return fmt::format("{}: right place not in first {}", kWrongMark, matches.size());
  }
  return fmt::format("{}: right place is no. {}", kWrongMark, found - matches.begin() + 1);
}

std::string metres_apart(const Dataset& dataset, int query, int place) {
  // A dataset without positions may leave the lists empty.
  if (dataset.query_positions.size() != dataset.queries.size() ||
      dataset.database_positions.size() != dataset.database.size()) {
    return "";
  }
  const auto& here = dataset.query_positions[query];
  const auto& there = dataset.database_positions[place];
  if (!here || !there) return "";
  const double metres = std::hypot((*here)[0] - (*there)[0], (*here)[1] - (*there)[1]);
  return std::isfinite(metres) ? fmt::format(" &middot; {:.0f} m", metres) : "";
}

std::string file_html(const std::filesystem::path& file) {
  return fmt::format("<span class=\"name\" title=\"{}\">{}</span>",
                     escape_markup(file.string()),
                     escape_markup(file.filename().string()));
}

std::string answer_html(const Dataset& dataset,
                        const Thumbnails& thumbnails,
                        int query,
                        const Match& match) {
  const bool right = is_positive(dataset, query, match.place);
  const std::filesystem::path& file = dataset.database[match.place];
  return fmt::format(
      "<figure class=\"answer {}\">{}<figcaption><b>{}</b> <span class=\"score\">{:.3f}{}</span>{}"
      "</figcaption></figure>\n",
      right ? "right" : "wrong",
      thumbnails.show(file, fmt::format("{} answer", right ? "right" : "wrong")),
      right ? kRightMark : kWrongMark,
      match.score,
      metres_apart(dataset, query, match.place),
      file_html(file));
}

std::string query_html(const Dataset& dataset,
                       const std::vector<Evaluation>& evaluations,
                       const Thumbnails& thumbnails,
                       int query,
                       int top) {
  std::string rows;
  bool all_right = true;
  for (const Evaluation& evaluation : evaluations) {
    const std::vector<Match>& matches = evaluation.predictions[query];
    const bool right = first_is_right(dataset, evaluation, query);
    all_right = all_right && right;
    fmt::format_to(std::back_inserter(rows),
                   "<section class=\"row {}\"><h4>{} <span>{}</span></h4><div class=\"answers\">\n",
                   right ? "row-right" : "row-wrong",
                   name_html(evaluation.method),
                   verdict(dataset, matches, query));
    for (std::size_t i = 0; i < std::min(matches.size(), static_cast<std::size_t>(top)); ++i) {
      rows += answer_html(dataset, thumbnails, query, matches[i]);
    }
    rows += "</div></section>\n";
  }
  const std::filesystem::path& file = dataset.queries[query];
  return fmt::format(
      "<article class=\"query{}\"><figure class=\"asked\"><figcaption><b>Query {}</b> {}"
      "</figcaption>{}</figure>\n<div class=\"rows\">\n{}</div></article>\n",
      all_right ? " all-right" : "",
      query,
      file_html(file),
      thumbnails.show(file, fmt::format("query {}", query)),
      rows);
}

Thumbnails load_thumbnails(const Dataset& dataset,
                           const std::vector<Evaluation>& evaluations,
                           const std::vector<int>& queries,
                           int top) {
  std::vector<std::filesystem::path> files;
  for (const int query : queries) {
    files.push_back(dataset.queries[query]);
    for (const Evaluation& evaluation : evaluations) {
      const std::vector<Match>& matches = evaluation.predictions[query];
      for (std::size_t i = 0; i < std::min(matches.size(), static_cast<std::size_t>(top)); ++i) {
        files.push_back(dataset.database[matches[i].place]);
      }
    }
  }
  return Thumbnails(std::move(files));
}

}  // namespace

std::vector<int> choose_queries(const Dataset& dataset,
                                const std::vector<Evaluation>& evaluations,
                                int count) {
  const std::size_t wanted =
      std::min(static_cast<std::size_t>(std::max(count, 0)), dataset.queries.size());
  const std::size_t share = std::max<std::size_t>(1, wanted / (2 * evaluations.size()));
  std::vector<int> all(dataset.queries.size());
  std::iota(all.begin(), all.end(), 0);

  std::set<int> chosen;
  const auto take = [&](const std::vector<int>& from, std::size_t number, double phase) {
    for (const int query : evenly_spaced(from, number, phase)) {
      if (chosen.size() < wanted) chosen.insert(query);
    }
  };
  // Each group at its own phase, or all would pick neighbours in the middle of the same parts.
  const double groups = 2.0 * static_cast<double>(evaluations.size());
  double group = 0;
  for (const bool right : {false, true}) {
    for (const Evaluation& evaluation : evaluations) {
      std::vector<int> such;
      std::copy_if(all.begin(), all.end(), std::back_inserter(such), [&](int query) {
        return first_is_right(dataset, evaluation, query) == right;
      });
      take(such, share, (group++ + 0.5) / groups);
    }
  }
  std::vector<int> rest;
  std::set_difference(
      all.begin(), all.end(), chosen.begin(), chosen.end(), std::back_inserter(rest));
  take(rest, wanted - chosen.size(), 0.5);
  return {chosen.begin(), chosen.end()};
}

std::string answers_html(const Dataset& dataset,
                         const std::vector<Evaluation>& evaluations,
                         const ReportOptions& options) {
  const std::vector<int> queries = choose_queries(dataset, evaluations, options.rows);
  if (queries.empty() || options.top <= 0) return "";
  const Thumbnails thumbnails = load_thumbnails(dataset, evaluations, queries, options.top);

  std::size_t wrong = 0;
  for (const int query : queries) {
    for (const Evaluation& one : evaluations) wrong += !first_is_right(dataset, one, query);
  }
  std::string out = thumbnails.definitions();
  fmt::format_to(
      std::back_inserter(out),
      "<section id=\"answers\">\n<h2>Answers</h2>\n<p class=\"note\">{} of {} queries, evenly "
      "spaced among those each method gets right and wrong, so wrong ones are shown more often "
      "than they occur. A solid green frame is a right answer, a dashed red one a wrong answer; "
      "the number is the cosine similarity, or the score of a re-ranker that ordered the "
      "answers.</p>\n",
      queries.size(),
      dataset.queries.size());
  // Two radio buttons and a sibling rule in the stylesheet: no script to be blocked.
  fmt::format_to(std::back_inserter(out),
                 "<input type=\"radio\" name=\"show\" id=\"show-all\" autocomplete=\"off\" checked>"
                 "<label for=\"show-all\">All rows ({})</label>\n"
                 "<input type=\"radio\" name=\"show\" id=\"show-wrong\" autocomplete=\"off\"{}>"
                 "<label for=\"show-wrong\">Wrong only ({})</label>\n",
                 queries.size() * evaluations.size(),
                 wrong == 0 ? " disabled" : "",
                 wrong);
  fmt::format_to(
      std::back_inserter(out), "<div class=\"queries\" style=\"--top:{}\">\n", options.top);
  for (const int query : queries) {
    out += query_html(dataset, evaluations, thumbnails, query, options.top);
  }
  return out + "</div>\n</section>\n";
}

std::string leading_answers_html(const ReportView& view, const ReportOptions& options) {
  const auto methods = view.leading(kMostMethods);
  if (methods.size() == view.evaluations.size()) {
    return answers_html(view.dataset, view.evaluations, options);
  }
  std::vector<Evaluation> shown;
  for (const std::size_t i : methods) shown.push_back(view.evaluations[i]);
  return answers_html(view.dataset, shown, options) +
         left_out_html(methods.size(), view.evaluations.size());
}

}  // namespace ria
