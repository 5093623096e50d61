// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "report/answers.h"
#include "report/curves.h"
#include "report/export.h"
#include "report/page.h"
#include "report/place_map.h"
#include "report/provenance.h"
#include "report/score_matrix.h"
#include "report/summary.h"
#include "report/view.h"
#include "ria/report.h"
#include "util/files.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

void write_page(const fs::path& html_file, ReportView& view, const ReportOptions& options) {
  // Opened first: a folder that cannot be written is told before the pictures are read.
  AtomicFile out(html_file);
  out.write(page_start(options.title));
  out.write(fmt::format("<p class=\"lead\">{}</p>\n", lead_sentence(view)));
  out.write("<section>\n<h2>Recall</h2>\n");
  out.write(recall_table_html(view));
  out.write(recall_curves_html(view));
  out.write("</section>\n");
  out.write(lead_tests_html(view));
  out.write(precision_recall_html(view));
  out.write(leading_answers_html(view, options));
  out.write(place_maps_html(view));
  out.write(score_matrices_html(view));
  out.write(cost_table_html(view.evaluations));
  out.write(provenance_html(view.dataset, view.evaluations, options.command));
  out.write(page_end());
  out.commit();
}

}  // namespace

void write_report(const fs::path& folder_or_html,
                  const Dataset& dataset,
                  const std::vector<Evaluation>& evaluations,
                  const ReportOptions& options) {
  ReportView view(dataset, evaluations);
  if (folder_or_html.extension() == ".html") return write_page(folder_or_html, view, options);
  prepare_report_folder(folder_or_html);
  write_text(folder_or_html / "results.json", to_json(evaluations));
  write_text(folder_or_html / "results.csv", to_csv(evaluations));
  write_text(folder_or_html / "table.tex", to_tex(evaluations));
  write_page(folder_or_html / "index.html", view, options);
}

}  // namespace ria
