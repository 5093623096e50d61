// SPDX-License-Identifier: MIT
// What the paper printed, to be set beside what a study measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ria/study.h"

namespace ria {

/// A table of the paper.
struct PaperTable {
  /// Recall@k on a dataset, by its name in `ria datasets`; k = 0: another figure.
  struct Column {
    std::string dataset;
    int k = 1;
    int decimals = 1;        ///< printed
    std::string title = {};  ///< empty: dataset and k
  };
  struct Row {
    std::string name;            ///< of the study's row
    std::vector<double> values;  ///< one a column; NaN: not given
    bool own_network = false;    ///< a published system, whatever backbone the study is asked for
  };

  std::string label;     ///< "table 4"
  std::string backbone;  ///< of the rows without a network of their own
  std::vector<Column> columns;
  std::vector<Row> rows;
};

const PaperTable& paper_methods();
const PaperTable& paper_backbones();
const PaperTable& paper_geometry();
const PaperTable& paper_alpha();
const PaperTable& paper_stabilisation();
const PaperTable& paper_dimension();
const PaperTable& paper_ns_error();
const PaperTable& paper_seeds();
const PaperTable& paper_projection();
const PaperTable& paper_estimators();
const PaperTable& paper_ft_components();
/// R@1 on pitts30k and nardo_air by tau (rows) and eps (columns).
const std::vector<PaperTable>& paper_tau_eps();

/// Whether some number of right answers among `queries` gives a percentage that is printed so.
bool attainable(double percent, int queries, int decimals);

/// Sets the paper's figures beside those of the study's first table, row by row, where the dataset
/// is one of the paper's and the network is the same; says in a note whether they are. The paper's
/// own table follows the study's, with marks at figures that no number of right answers gives.
void set_beside_paper(const PaperTable& paper,
                      const Dataset& dataset,
                      const StudyOptions& options,
                      StudyResult& result);

/// The same for grids, each of one dataset: they follow whole.
void append_paper_grids(const std::vector<PaperTable>& grids,
                        const Dataset& dataset,
                        const StudyOptions& options,
                        StudyResult& result);

}  // namespace ria
