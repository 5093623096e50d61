// SPDX-License-Identifier: MIT
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "report/markup.h"
#include "report/style.h"
#include "report/svg.h"
#include "ria/report.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

std::string page_start(const std::string& title) {
  const std::string escaped = escape_markup(title);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
      escaped,
      page_style(),
      chart_style(),
      escaped);
}

std::string page_end() { return "</body>\n</html>\n"; }

std::string table_html(const PageTable& table) {
  std::string out = "<div class=\"card scroll\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.head.size(); ++i) {
    const bool words = i > 0 && std::any_of(table.rows.begin(),
                                            table.rows.end(),
                                            [i](const auto& row) { return row.cells[i - 1].text; });
    out +=
        fmt::format("<th scope=\"col\"{}>{}</th>", words ? " class=\"text\"" : "", table.head[i]);
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const PageTable::Row& row : table.rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", row.name);
    for (const PageCell& cell : row.cells) {
      const char* kind = cell.best ? " class=\"best\"" : cell.text ? " class=\"text\"" : "";
      out += fmt::format("<td{}>{}</td>", kind, cell.html);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string percent_text(double value) { return fmt::format("{:.1f}", value); }

void prepare_report_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw std::runtime_error(
        fmt::format("{}: the folder of a report cannot be made: {}",
                    folder.string(),
                    fs::exists(folder) ? "a file has this name" : error.message()));
  }
  // Told before the pictures are read.
  check_writable(folder / "index.html");
}

void check_report(const fs::path& folder_or_html) {
  const bool page = folder_or_html.extension() == ".html";
  if (page || fs::is_directory(folder_or_html)) {
    return check_writable(page ? folder_or_html : folder_or_html / "index.html");
  }
  fs::path above = fs::absolute(folder_or_html).lexically_normal();
  std::error_code ignored;
  while (!fs::exists(above, ignored) && above.has_relative_path()) above = above.parent_path();
  if (fs::is_directory(above, ignored)) return check_writable(above / "index.html");
  throw std::runtime_error(fmt::format("{}: the folder of a report cannot be made: {} is a file",
                                       folder_or_html.string(),
                                       above.string()));
}

}  // namespace ria
