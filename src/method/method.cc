// SPDX-License-Identifier: MIT
#include "ria/method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "method/table.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

const std::string kDatabase = "database";  // a vocabulary fitted on it

/// Aggregators that go with any backbone; all others are read from a file.
constexpr const char* kPairing[] = {"ria", "riax", "gem", "mean", "vlad", "netvlad"};

const std::vector<Method>& all_rows() {
  static const std::vector<Method> rows = [] {
    std::vector<Method> all = listed_rows();
    for (Method& row : further_rows()) all.push_back(std::move(row));
    for (Method& row : pairing_rows()) {
      const bool listed = std::any_of(
          all.begin(), all.end(), [&](const Method& known) { return known.name == row.name; });
      if (!listed) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

const Method* find_row(const std::string& name) {
  for (const Method& row : all_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// What other tools call by one name, and the row it means where no other part is given.
struct Family {
  const char* name;
  const char* row;
};
constexpr Family kFamilies[] = {{"cosplace", "cosplace-resnet50-512"},
                                {"eigenplaces", "eigenplaces-resnet50-2048"},
                                {"mixvpr", "mixvpr-4096"},
                                {"convap", "convap-512"},
                                {"boq", "boq-dinov2-12288"},
                                {"qaa", "qaa-8192"},
                                {"netvlad", "netvlad"},
                                {"dino-mix", "dinomix"},
                                {"cliquemining", "clique-mining"},
                                {"anyloc", "anyloc-vlad-dinov2"},
                                {"patch-netvlad", "patch-netvlad-mapillary-4096"}};

/// Other tools say DINOv2 for the size the system comes in.
bool of_network(const Method& row, const std::string& backbone) {
  return backbone.empty() || row.backbone == backbone || row.backbone.starts_with(backbone + "-");
}

/// The row of a family with this backbone and dimension: its usual one if that is so.
std::string family_row(const std::string& name, const std::string& backbone, int dim) {
  for (const Family& family : kFamilies) {
    if (name != family.name) continue;
    const auto fits = [&](const Method& row) {
      return of_network(row, backbone) && (dim == 0 || row.dim == dim);
    };
    if (fits(*find_row(family.row))) return family.row;
    for (const Method& row : all_rows()) {
      if (row.name.starts_with(name + "-") && fits(row)) return row.name;
    }
  }
  return "";
}

std::string pairing_name(const std::string& network, const std::string& aggregator) {
  for (const std::string& name : {network + "-any-" + aggregator, network + "-" + aggregator}) {
    const Method* row = find_row(name);
    if (row != nullptr && row->backbone == network) return name;
  }
  const auto networks = backbone_names();
  if (std::find(networks.begin(), networks.end(), network) == networks.end()) {
    throw std::invalid_argument(unknown_name("backbone", network, networks, "ria methods"));
  }
  const std::vector<std::string> pairing(std::begin(kPairing), std::end(kPairing));
  const auto all = aggregator_names();
  if (std::find(all.begin(), all.end(), aggregator) == all.end()) {
    throw std::invalid_argument(unknown_name("aggregator", aggregator, pairing));
  }
  throw std::invalid_argument(
      fmt::format("aggregator '{}' does not go with any backbone, known: {}",
                  aggregator,
                  fmt::join(pairing, ", ")));
}

/// The method so that its descriptors have this length.
std::string with_dimension(const std::string& method, int dimension) {
  if (dimension == 0 || method.ends_with(fmt::format("-{}", dimension))) return method;
  const Method& row = find_method(method.substr(0, method.find(':')));
  const bool beyond = row.aggregator == "riax";
  const bool triangular = beyond || row.aggregator == "ria";
  const int length = beyond && dimension == 33000 ? 32896 : dimension;
  const int d = static_cast<int>((std::sqrt(8.0 * length + 1) - 1) / 2);
  if (triangular && d >= 1 && d * (d + 1) / 2 == length && !(beyond && d % 2 != 0)) {
    return fmt::format("{}{}d={}", method, method.find(':') == std::string::npos ? ":" : ",", d);
  }
  if (row.dim == dimension) return method;
  throw std::invalid_argument(fmt::format(
      "descriptors_dimension is {}, which {} does not come in (pca {} brings any method there{})",
      dimension,
      method,
      dimension,
      triangular ? fmt::format("; {} has d(d+1)/2 values: 528, 2080, 8256", row.aggregator) : ""));
}

template <typename T>
void fill(T& field, const T& own, const T& unset = {}) {
  if (field == unset) field = own;
}

}  // namespace

bool MethodOptions::sized() const {
  return longest_side > 0 || shortest_side > 0 || image_height > 0 || native_size;
}

void MethodOptions::validate() const {
  backbone.validate();
  ria.validate();
  gem.validate();
  vlad.validate();
  post.validate();
  patches.validate();
  if ((image_height > 0) != (image_width > 0)) {
    throw std::invalid_argument(
        fmt::format("image_size is {}x{}, both sides were expected", image_height, image_width));
  }
  if (longest_side < 0) {
    throw std::invalid_argument(
        fmt::format("longest_side is {}, 0 (the method's own) or more was expected", longest_side));
  }
  if (shortest_side < 0 || image_height < 0 || image_width < 0) {
    throw std::invalid_argument("image_size must not be negative");
  }
  if (cross_image < 0) {
    throw std::invalid_argument(
        fmt::format("cross_image is {}, 0 (the method's own) or more was expected", cross_image));
  }
  if (!resize.empty()) parse_resize(resize);
  if (!rerank.empty() && rerank != "none" && rerank != "patches" && rerank != "local") {
    throw std::invalid_argument(unknown_name("rerank", rerank, {"none", "patches", "local"}));
  }
  if (rerank_depth < 1) {
    throw std::invalid_argument(
        fmt::format("rerank_depth is {}, at least 1 was expected", rerank_depth));
  }
}

std::vector<std::string> aggregator_names() {
  std::vector<std::string> names;
  for (const Method& row : all_rows()) {
    if (std::find(names.begin(), names.end(), row.aggregator) == names.end()) {
      names.push_back(row.aggregator);
    }
  }
  return names;
}

bool has_trained_head(const Method& method) {
  return std::find(std::begin(kPairing), std::end(kPairing), method.aggregator) ==
         std::end(kPairing);
}

bool has_cross_image(const Method& method) { return method.own.cross_image > 0; }

bool needs_vocabulary(const Method& method) {
  return method.aggregator == "vlad" || method.aggregator == "netvlad";
}

const std::vector<Method>& methods() {
  static const std::vector<Method> rows = listed_rows();
  return rows;
}

const Method& find_method(const std::string& name) {
  if (const Method* row = find_row(name)) return *row;
  if (const std::string row = family_row(name, "", 0); !row.empty()) return *find_row(row);
  std::vector<std::string> known;
  for (const Family& family : kFamilies) known.emplace_back(family.name);
  for (const Method& row : all_rows()) known.push_back(row.name);
  throw std::invalid_argument(unknown_name("method", name, known, "ria methods"));
}

std::string method_name(const std::string& method,
                        const std::string& backbone,
                        const std::string& aggregator,
                        int descriptors_dimension) {
  const std::string network = lower(backbone);
  if (!aggregator.empty() || (!network.empty() && method.empty())) {
    return with_dimension(pairing_name(network, aggregator.empty() ? "ria" : aggregator),
                          descriptors_dimension);
  }
  const std::string row = family_row(method, network, descriptors_dimension);
  if (!row.empty()) return row;
  const Method& found = find_method(method.substr(0, method.find(':')));
  if (!of_network(found, network)) {
    throw std::invalid_argument(fmt::format(
        "method {} goes with backbone {}, not with {}", method, found.backbone, backbone));
  }
  return with_dimension(method, descriptors_dimension);
}

MethodOptions resolve_options(const Method& method, const MethodOptions& options) {
  MethodOptions o = options;
  const MethodOptions& own = method.own;
  fill(o.backbone.cut, own.backbone.cut);
  fill(o.backbone.layer, own.backbone.layer);
  fill(o.backbone.facet, own.backbone.facet);
  fill(o.backbone.position_rule, own.backbone.position_rule);
  fill(o.backbone.stride, own.backbone.stride);
  fill(o.backbone.final_norm, own.backbone.final_norm);
  fill(o.gem.sign, own.gem.sign);
  fill(o.vlad.vocabulary, own.vlad.vocabulary.empty() ? kDatabase : own.vlad.vocabulary);
  fill(o.vlad.clusters, own.vlad.clusters > 0 ? own.vlad.clusters : 32);
  fill(o.rerank, own.rerank.empty() ? std::string("none") : own.rerank);
  fill(o.resize, own.resize);
  fill(o.cross_image, own.cross_image);
  if (!o.sized()) {
    o.longest_side = own.longest_side;
    o.shortest_side = own.shortest_side;
    o.image_height = own.image_height;
    o.image_width = own.image_width;
    o.native_size = own.native_size;
  }
  o.round_size = o.round_size || own.round_size;
  return o;
}

Preprocessing method_preprocessing(const Backbone& backbone, const MethodOptions& options) {
  Preprocessing pre = backbone.preprocessing();
  if (!options.resize.empty()) pre.resize = parse_resize(options.resize);
  if (options.image_height > 0) {
    pre.height = options.image_height;
    pre.width = options.image_width;
    pre.longest_side = 0;
  } else if (options.native_size) {
    pre.longest_side = 0;
  } else if (options.shortest_side > 0) {
    pre.shortest_side = options.shortest_side;
    pre.longest_side = 0;
  } else if (options.longest_side > 0) {
    pre.longest_side = options.longest_side;
  }
  pre.round_size = options.round_size;
  pre.load.ignore_orientation = options.ignore_orientation;
  pre.validate();
  return pre;
}

}  // namespace ria
