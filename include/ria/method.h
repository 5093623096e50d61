// SPDX-License-Identifier: MIT
// The one table of methods: name -> backbone + preprocessing + aggregator.
#pragma once

#include <string>
#include <vector>

#include "ria/aggregator.h"
#include "ria/backbone.h"
#include "ria/image.h"

namespace ria {

/// A row of the table.
struct Method {
  std::string name;  ///< <backbone>-<aggregator>
  std::string backbone;
  std::string aggregator;  ///< ria | gem | mean
  std::string summary;
  std::string paper;
  std::string weights;  ///< name in weight_sources(); empty: needs none
};

/// Everything a method may be told beside its row. Defaults are the row's own.
struct MethodOptions {
  BackboneOptions backbone;
  RiaOptions ria;
  GemOptions gem;
  int longest_side = 0;   ///< pixels; 0: the backbone's default
  int shortest_side = 0;  ///< pixels; instead of longest_side
  int image_height = 0;   ///< pixels, with image_width: exact size instead of longest_side
  int image_width = 0;
  std::string resize;        ///< name of a Resize kind; empty: the backbone's default
  bool native_size = false;  ///< do not resize at all

  void validate() const;
};

const std::vector<Method>& methods();

/// Throws std::invalid_argument listing the known names.
const Method& find_method(const std::string& name);

/// What the options mean for pictures of this backbone.
Preprocessing method_preprocessing(const Backbone& backbone, const MethodOptions& options);

/// Every option that shapes the descriptor of this method, as one line of JSON with sorted keys.
std::string options_json(const Method& method, const MethodOptions& options);

/// The inverse of options_json(); unknown keys are refused.
MethodOptions parse_options_json(const std::string& json);

/// Names of the enumerators as flags and JSON spell them; parse_* throw listing the known ones.
std::string to_string(Estimator estimator);
std::string to_string(Mapping mapping);
std::string to_string(GemSign sign);
std::string to_string(Resize resize);
std::string to_string(Precision precision);
Estimator parse_estimator(const std::string& name);
Mapping parse_mapping(const std::string& name);
GemSign parse_gem_sign(const std::string& name);
Resize parse_resize(const std::string& name);
Precision parse_precision(const std::string& name);

}  // namespace ria
