// SPDX-License-Identifier: MIT
// The frame of every page and its tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ria {

/// From the doctype to the heading.
std::string page_start(const std::string& title);
std::string page_end();

struct PageCell {
  std::string html;
  bool best = false;
  bool text = false;  ///< words, which may wrap, not a number
};

struct PageTable {
  std::vector<std::string> head;  ///< HTML; the first stands above the rows' names
  struct Row {
    std::string name;  ///< HTML
    std::vector<PageCell> cells;
  };
  std::vector<Row> rows;
};
/// On a card that scrolls sideways if the page is too narrow.
std::string table_html(const PageTable& table);

/// A percentage with a number behind it: "83.0".
std::string percent_text(double value);

/// Throws std::runtime_error that names a folder which cannot be made or written.
void prepare_report_folder(const std::filesystem::path& folder);
}  // namespace ria
