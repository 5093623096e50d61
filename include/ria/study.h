// SPDX-License-Identifier: MIT
// The paper's tables and figures, each a declared grid over the pipeline.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/dataset.h"
#include "ria/evaluate.h"

namespace ria {

/// A field of a table: what is shown, and the number behind it where it is one.
struct StudyField {
  std::string text;
  std::optional<double> value;
  bool best = false;  ///< of its column
};

/// Rows of fields under column names.
struct StudyTable {
  /// One variant.
  struct Row {
    std::string name;
    std::vector<StudyField> fields;  ///< one a column
  };
  std::string title;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::string caption;
  bool of_paper = false;  ///< what the paper printed; nothing in it was measured
};

/// Lines over a common x axis.
struct StudyPlot {
  /// One line.
  struct Series {
    std::string name;
    std::vector<double> x, y;
    std::vector<double> low, high;  ///< a band around y; empty: none
  };
  std::string title, x_label, y_label;
  std::vector<Series> series;
};

/// Values on a grid, shown by colour.
struct StudyHeatMap {
  std::string title, row_label, column_label;
  std::vector<std::string> rows, columns;
  MatrixD values;  ///< rows x columns
};

/// What a study found: enough to print, to draw and to write down.
struct RIA_API StudyResult {
  std::string study, title, dataset, command;
  std::vector<std::string> notes;  ///< what to know: where the paper differs or contradicts itself
  std::vector<StudyTable> tables;
  std::vector<StudyPlot> plots;
  std::vector<StudyHeatMap> heat_maps;
  std::vector<Evaluation> evaluations;  ///< of the methods compared; empty: it measures no recall
  std::vector<Failure> failures;        ///< pictures left out, each once

  /// The tables and notes as text.
  std::string text() const;
};

/// A study as `ria study list` shows it.
struct StudyInfo {
  std::string name;
  std::string title;
  std::string paper;  ///< table or figure
  std::string what;   ///< what is varied and measured
};
RIA_API const std::vector<StudyInfo>& studies();

/// What a study is run with.
struct RIA_API StudyOptions {
  std::string backbone = "resnet50";  ///< of the studies that vary the head
  std::string other_pictures;  ///< projection: folder for PCA on other pictures; empty: left out
  int pictures = 200;          ///< drift and ns-error: at most so many, evenly spread
  /// ft-components: folder of runs named as train_ladder() names them; empty: published files only
  std::filesystem::path runs;
  std::filesystem::path folder;  ///< where finished cells are kept, for resuming; empty: nowhere
  MethodOptions method;          ///< for all methods of the study
  EvaluateOptions evaluate;      ///< run.feature_cache is worth setting

  /// Throws std::invalid_argument naming the field; std::runtime_error for other pictures that are
  /// not there.
  void validate() const;
};

/// Throws std::invalid_argument for an unknown name, listing the known ones. A method whose weights
/// are missing is left out and named in the notes; std::runtime_error if none remains.
RIA_API StudyResult run_study(const std::string& name,
                              const Dataset& dataset,
                              const StudyOptions& options = {});

/// {"study", "dataset", "tables": [..], "plots": [..], "heat_maps": [..], "evaluations": [..], ..}
RIA_API std::string to_json(const StudyResult& result);

}  // namespace ria
