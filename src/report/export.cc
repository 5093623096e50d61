// SPDX-License-Identifier: MIT
#include "report/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "report/table.h"
#include "ria/version.h"

namespace ria {

namespace {

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  std::transform(fields.begin(), fields.end(), std::back_inserter(quoted), csv_field);
  return fmt::format("{}\r\n", fmt::join(quoted, ","));
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::vector<std::string> csv_head(const std::vector<int>& ks,
                                  const std::vector<std::string>& stages) {
  std::vector<std::string> head = {"method", "dataset", "queries", "database", "dim", "bytes"};
  for (const int k : ks) {
    for (const char* bound : {"", "_low", "_high"}) head.push_back(fmt::format("R@{}{}", k, bound));
  }
  for (const char* name : {"average_precision", "recall_at_full_precision", "open_set_threshold"}) {
    head.emplace_back(name);
  }
  for (const std::string& stage : stages) head.push_back("seconds_" + stage);
  for (const char* name : {"failures", "seed", "weights_sha256", "ria_version"}) {
    head.emplace_back(name);
  }
  return head;
}

std::vector<std::string> csv_fields(const Evaluation& one,
                                    const std::vector<int>& ks,
                                    const std::vector<std::string>& stages) {
  std::vector<std::string> fields = {one.method,
                                     one.dataset,
                                     std::to_string(one.queries),
                                     std::to_string(one.database),
                                     std::to_string(one.dim),
                                     std::to_string(one.dim * sizeof(float))};
  for (const int k : ks) {
    const auto recall = one.recall.find(k);
    const auto bounds = one.interval.find(k);
    fields.push_back(recall == one.recall.end() ? "" : number(recall->second));
    fields.push_back(bounds == one.interval.end() ? "" : number(bounds->second.low));
    fields.push_back(bounds == one.interval.end() ? "" : number(bounds->second.high));
  }
  const bool judged = !one.precision_recall.points.empty();
  fields.push_back(judged ? number(one.precision_recall.average_precision) : "");
  fields.push_back(judged ? number(one.precision_recall.recall_at_full_precision) : "");
  fields.push_back(number(one.open_set_threshold));
  for (const std::string& stage : stages) {
    const auto spent = one.seconds.find(stage);
    fields.push_back(spent == one.seconds.end() ? "" : number(spent->second));
  }
  fields.push_back(std::to_string(one.failures.size()));
  fields.push_back(std::to_string(one.seed));
  fields.push_back(one.weights_sha256);
  fields.emplace_back(RIA_VERSION);
  return fields;
}

struct TexRow {
  std::vector<std::string> fields;  ///< TeX; the first is the row's name
};

/// `kinds` is the column specification: "lrr".
std::string tabular(const std::string& comment,
                    const std::string& kinds,
                    const std::vector<std::string>& head,
                    const std::vector<TexRow>& rows) {
  std::string out = fmt::format("% {}; needs \\usepackage{{booktabs}}\n", comment);
  out += fmt::format(
      "\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n", kinds, fmt::join(head, " & "));
  for (const TexRow& row : rows) out += fmt::format("{} \\\\\n", fmt::join(row.fields, " & "));
  return out + "\\bottomrule\n\\end{tabular}\n";
}

std::string tex_cell(std::string_view text, bool best) {
  return best ? fmt::format("\\textbf{{{}}}", tex_text(text)) : tex_text(text);
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string tex_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '<':
        out += "\\textless{}";
        break;
      case '>':
        out += "\\textgreater{}";
        break;
      case '|':
        out += "\\textbar{}";
        break;
      case '\n':
      case '\r':
        out += ' ';
        break;
      default:
        if (std::string_view("_%&#${}").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

std::string to_csv(const std::vector<Evaluation>& evaluations) {
  const std::vector<int> ks = recall_ks(evaluations);
  const std::vector<std::string> stages = measured_stages(evaluations);
  std::string out = csv_line(csv_head(ks, stages));
  for (const Evaluation& one : evaluations) out += csv_line(csv_fields(one, ks, stages));
  return out;
}

std::string to_tex(const std::vector<Evaluation>& evaluations) {
  std::vector<int> ks = recall_ks(evaluations);
  const auto has = [&](int k) { return std::find(ks.begin(), ks.end(), k) != ks.end(); };
  if (has(1) && has(5)) ks = {1, 5};
  if (ks.size() > 2) ks.resize(2);
  std::vector<ComparisonColumn> columns;
  for (const int k : ks) columns.push_back(recall_column(evaluations, k));

  std::vector<std::string> head = {"Method"};
  for (const ComparisonColumn& column : columns) head.push_back(tex_text(column.title));
  std::vector<TexRow> rows;
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    rows.push_back({{tex_text(evaluations[i].method)}});
    for (const ComparisonColumn& column : columns) {
      rows.back().fields.push_back(tex_cell(column.cells[i], column.best[i]));
    }
  }
  const std::string set = evaluations.empty() ? "" : evaluations.front().dataset;
  return tabular(
      "Recall in percent on " + tex_text(set), "l" + std::string(columns.size(), 'r'), head, rows);
}

std::string to_csv(const StudyResult& result) {
  std::string out = csv_line({"table", "row", "column", "text", "value", "best"});
  for (const StudyTable& table : result.tables) {
    for (const StudyTable::Row& row : table.rows) {
      for (std::size_t c = 0; c < row.fields.size(); ++c) {
        const StudyField& field = row.fields[c];
        out += csv_line({table.title,
                         row.name,
                         table.columns[c],
                         field.text,
                         field.value ? fmt::format("{:.10g}", *field.value) : "",
                         field.best ? "1" : "0"});
      }
    }
  }
  return out;
}

std::string to_tex(const StudyTable& table) {
  std::string kinds = "l";
  std::vector<std::string> head = {""};
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    head.push_back(tex_text(table.columns[c]));
    const bool numbers = std::any_of(table.rows.begin(), table.rows.end(), [c](const auto& row) {
      return row.fields[c].value.has_value();
    });
    kinds += numbers ? 'r' : 'l';
  }
  std::vector<TexRow> rows;
  for (const StudyTable::Row& row : table.rows) {
    rows.push_back({{tex_text(row.name)}});
    for (const StudyField& field : row.fields) {
      rows.back().fields.push_back(tex_cell(field.text, field.best));
    }
  }
  return tabular(tex_text(table.title), kinds, head, rows);
}

}  // namespace ria
