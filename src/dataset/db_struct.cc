// SPDX-License-Identifier: MIT
// MATLAB's dbStruct: names and positions of Pittsburgh, Tokyo 24/7 and Oxford RobotCar.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "archive/bytes.h"
#include "dataset/forms.h"
#include "dataset/pictures.h"
#include "dataset/positives.h"
#include "tensor/mat.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kMatFolders{"", "datasets", "raw_data/datasets"};
constexpr char kOxfordFile[] = "oxdatapart.mat";

/// The members of a dbStruct, which is a struct, or a cell that holds them in order.
class DbStruct {
 public:
  explicit DbStruct(const fs::path& file) : file_(file), variables_(read_mat(file)) {
    const auto found = variables_.find("dbStruct");
    if (found == variables_.end()) throw read_error(file, "a variable dbStruct was expected");
    root_ = &found->second;
    if (root_->kind != MatValue::Kind::structure && root_->kind != MatValue::Kind::cell) {
      throw read_error(file, "dbStruct is neither a struct nor a cell");
    }
  }

  /// By the first of these names that there is, or by its place in a cell.
  const MatValue& at(std::initializer_list<const char*> names, std::size_t place) const {
    if (root_->kind == MatValue::Kind::cell && place < root_->cells.size()) {
      return root_->cells[place];
    }
    for (const char* name : names) {
      if (const MatValue* value = root_->find(name)) return *value;
    }
    throw read_error(file_, fmt::format("dbStruct has no {}", *names.begin()));
  }

  std::vector<std::string> texts(std::initializer_list<const char*> names,
                                 std::size_t place) const {
    const MatValue& value = at(names, place);
    std::vector<std::string> all;
    if (value.kind == MatValue::Kind::text) {
      all = value.rows();
    } else if (value.kind == MatValue::Kind::cell) {
      for (const MatValue& cell : value.cells) all.push_back(one_text(cell, *names.begin()));
    } else {
      throw read_error(file_, fmt::format("{} are no names", *names.begin()));
    }
    // Rows of a char array are padded; no published name has a space inside.
    for (std::string& name : all) std::erase(name, ' ');
    return all;
  }

  /// 2 x N, or N x 2 where `count` says so.
  Positions positions(std::initializer_list<const char*> names,
                      std::size_t place,
                      std::size_t count,
                      bool rows) const {
    const MatValue& value = at(names, place);
    const auto n = static_cast<std::int64_t>(count);
    const std::vector<std::int64_t> wide{2, n}, tall{n, 2};
    if (value.kind != MatValue::Kind::number || (value.dims != wide && value.dims != tall)) {
      throw read_error(file_, fmt::format("{} of 2 x {} numbers was expected", *names.begin(), n));
    }
    const bool by_rows = wide == tall ? rows : value.dims == tall;
    const std::vector<double> values = value.doubles();  // the first dimension runs fastest
    Positions all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(by_rows ? Position{values[i], values[count + i]}
                            : Position{values[2 * i], values[2 * i + 1]});
    }
    return all;
  }

  double radius(std::size_t place) const {
    const MatValue& value = at({"posDistThr"}, place);
    const std::vector<double> values =
        value.kind == MatValue::Kind::number ? value.doubles() : std::vector<double>();
    if (values.size() != 1 || !(values[0] > 0)) {
      throw read_error(file_, "posDistThr of metres was expected");
    }
    return values[0];
  }

 private:
  std::string one_text(const MatValue& cell, const char* name) const {
    // SciPy wraps each name in a cell of its own.
    if (cell.kind == MatValue::Kind::cell && cell.cells.size() == 1) {
      return one_text(cell.cells[0], name);
    }
    if (cell.kind != MatValue::Kind::text || cell.rows().size() != 1) {
      throw read_error(file_, fmt::format("{} are no names", name));
    }
    return cell.rows()[0];
  }

  fs::path file_;
  std::map<std::string, MatValue> variables_;
  const MatValue* root_ = nullptr;
};

/// Places of the members in a cell: Pittsburgh's order and Oxford's.
struct Order {
  std::size_t places, place_positions, queries, query_positions, radius;
};
constexpr Order kPittsburgh{1, 2, 3, 4, 7};
constexpr Order kOxford{0, 1, 2, 3, 6};

void load_struct(Loading& loading,
                 const fs::path& file,
                 const Order& order,
                 const std::vector<fs::path>& place_roots,
                 const std::vector<fs::path>& query_roots) {
  const DbStruct truth(file);
  const auto places = truth.texts({"dbImageFns", "dbImage"}, order.places);
  const auto queries = truth.texts({"qImageFns", "qImage"}, order.queries);
  const bool rows = order.places == kOxford.places;
  Positions place_positions =
      truth.positions({"utmDb", "locDb"}, order.place_positions, places.size(), rows);
  Positions query_positions =
      truth.positions({"utmQ", "locQ"}, order.query_positions, queries.size(), rows);
  Dataset& data = loading.dataset;
  data.database = find_listed(loading, places, place_roots, "database pictures");
  data.queries = find_listed(loading, queries, query_roots, "queries");
  settle_positions(loading,
                   std::move(place_positions),
                   std::move(query_positions),
                   loading.radius(truth.radius(order.radius)));
}

/// The named file, or the only .mat there is; with several the one of the split.
fs::path struct_file(const Loading& loading, const std::string& name) {
  if (!name.empty()) return find_file(loading, kMatFolders, loading.fill(name));
  std::vector<fs::path> found = files_ending(loading, kMatFolders, ".mat");
  const std::string& split = loading.options.split;
  if (found.size() > 1 && !split.empty()) {
    std::erase_if(found,
                  [&](const fs::path& file) { return !file.stem().string().ends_with(split); });
  }
  if (found.size() > 1) {
    throw std::invalid_argument(
        fmt::format("{}: {} .mat files, split chooses one", loading.folder.string(), found.size()));
  }
  return found.empty() ? fs::path() : found[0];
}

void load_db_struct(Loading& loading, const std::string& name) {
  const std::vector<std::string> below{
      "images", "Pittsburgh250k", "pittsburgh", "tokyo247", "raw_data/tokyo247"};
  const auto roots = picture_roots(loading, below);
  std::vector<fs::path> query_roots;
  for (const char* queries : {"queries_real", "247query_subset_v2", "247query_v3", "queries", ""}) {
    for (const fs::path& root : roots) query_roots.push_back(root / queries);
  }
  load_struct(loading, struct_file(loading, name), kPittsburgh, roots, query_roots);
}

}  // namespace

Form db_struct_form(std::string file) {
  const std::string shown = file.empty() ? "NAME.mat" : file;
  return {shown + " (or datasets/" + shown + ") with dbStruct and the pictures it names",
          [file, shown](const Loading& loading) {
            return struct_file(loading, file).empty()
                       ? std::vector<std::string>{loading.fill(shown)}
                       : std::vector<std::string>{};
          },
          [file](Loading& loading) { load_db_struct(loading, file); }};
}

Form oxford_form() {
  return {"oxdatapart.mat oxDataPart/{1-m,1-s,2-s,...}/",
          [](const Loading& loading) {
            return not_there(loading, {kOxfordFile, "oxDataPart"});
          },
          [](Loading& loading) {
            const auto roots = picture_roots(loading, {"oxDataPart"});
            load_struct(loading, loading.folder / kOxfordFile, kOxford, roots, roots);
          }};
}

}  // namespace ria
