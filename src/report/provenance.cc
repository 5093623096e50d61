// SPDX-License-Identifier: MIT
#include "report/provenance.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/markup.h"
#include "ria/version.h"

namespace ria {

namespace {

std::string pretty_json(const std::string& text) {
  // Order kept as written, and what is no JSON is still shown.
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return text;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string failures_html(const std::vector<Evaluation>& evaluations) {
  // Methods read the same pictures, so a broken one is listed once, with all who met it.
  std::map<std::pair<std::string, std::string>, std::string> methods;
  for (const Evaluation& one : evaluations) {
    for (const Failure& failure : one.failures) {
      std::string& names = methods[{failure.file, failure.reason}];
      names += (names.empty() ? "" : ", ") + one.method;
    }
  }
  if (methods.empty()) return "<p class=\"note\">Every picture could be read.</p>\n";
  std::string out = fmt::format(
      "<h3>Pictures that failed ({})</h3>\n<ul class=\"card failures\">\n", methods.size());
  for (const auto& [failure, names] : methods) {
    out += fmt::format("<li><code>{}</code>: {} <span class=\"note\">({})</span></li>\n",
                       escape_markup(failure.first),
                       escape_markup(failure.second),
                       escape_markup(names));
  }
  return out + "</ul>\n";
}

}  // namespace

std::string provenance_html(const Dataset& dataset,
                            const std::vector<Evaluation>& evaluations,
                            const std::string& command) {
  std::string out = "<section>\n<h2>How this was made</h2>\n";
  if (!command.empty()) {
    out += fmt::format("<div class=\"card\"><pre>{}</pre></div>\n", escape_markup(command));
  }
  out += fmt::format(
      "<p class=\"note\">ria {} &middot; dataset {}: {} queries, {} database "
      "pictures</p>\n",
      RIA_VERSION,
      escape_markup(dataset.name),
      dataset.queries.size(),
      dataset.database.size());
  if (!dataset.remarks.empty()) {
    out += "<ul class=\"card failures\">\n";
    for (const std::string& remark : dataset.remarks) {
      out += fmt::format("<li>{}</li>\n", escape_markup(remark));
    }
    out += "</ul>\n";
  }
  if (!evaluations.empty()) out += failures_html(evaluations);
  for (const Evaluation& one : evaluations) {
    out += fmt::format(
        "<details class=\"card\"><summary>{}: options, weights, seed</summary>\n"
        "<dl><dt>weights sha256</dt><dd><code>{}</code></dd>"
        "<dt>seed</dt><dd><code>{}</code></dd></dl>\n<pre>{}</pre></details>\n",
        name_html(one.method),
        one.weights_sha256.empty() ? "none" : escape_markup(one.weights_sha256),
        one.seed,
        escape_markup(pretty_json(one.options)));
  }
  return out + "</section>\n";
}

}  // namespace ria
