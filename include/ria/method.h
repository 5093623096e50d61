// SPDX-License-Identifier: MIT
// The one table of methods: name -> backbone + preprocessing + aggregator (+ reranker).
#pragma once

#include <string>
#include <vector>

#include "ria/aggregator.h"
#include "ria/api.h"
#include "ria/backbone.h"
#include "ria/image.h"
#include "ria/postprocess.h"
#include "ria/rerank.h"

namespace ria {

/// Everything a method may be told beside its name. Unset fields (empty, 0) mean the method's own.
struct RIA_API MethodOptions {
  BackboneOptions backbone;
  RiaOptions ria;
  RiaxOptions riax;
  GemOptions gem;
  VladOptions vlad;
  PostprocessOptions post;
  std::string fit_folder;  ///< pictures to fit vocabulary, center and pca on; empty: the database
  std::string rerank;      ///< none | patches | local (SelaVPR's own); empty: the method's own
  int rerank_depth = 100;  ///< so many first answers are looked at again
  PatchRerankOptions patches;
  /// Pictures that go through a cross-image encoder together, in the order of the list; 0: the
  /// method's own. Only methods that have such an encoder take more than 1.
  int cross_image = 0;
  int longest_side = 0;   ///< pixels; 0: the method's own
  int shortest_side = 0;  ///< pixels; instead of longest_side
  int image_height = 0;   ///< pixels, with image_width: exact size instead of longest_side
  int image_width = 0;
  std::string resize;               ///< name of a Resize kind; empty: the method's own
  bool native_size = false;         ///< do not resize at all
  bool round_size = false;          ///< see Preprocessing
  bool ignore_orientation = false;  ///< see LoadOptions

  /// Whether any of the sizes is set.
  bool sized() const;
  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// A row of the table.
struct Method {
  std::string name;        ///< <backbone>-<aggregator>, or the published name
  std::string backbone;    ///< of backbone_names()
  std::string aggregator;  ///< of aggregator_names()
  std::string summary;
  std::string paper;
  std::string weights;  ///< name in weight_sources(), backbone and trained head; empty: needs none
  int dim = 0;          ///< length of its descriptors by default; 0: as the file says
  MethodOptions own;    ///< what it sets where the caller does not
};

/// What stands between '-' and the end of a pairing's name, and the heads of published checkpoints.
RIA_API std::vector<std::string> aggregator_names();

/// Whether the aggregator is read from the same file as its backbone.
RIA_API bool has_trained_head(const Method& method);

/// Whether the network gives the descriptor itself: "onnx", which takes RIA where it does not.
RIA_API bool is_as_it_is(const Method& method);

/// Whether descriptors depend on the pictures beside them: see MethodOptions::cross_image.
RIA_API bool has_cross_image(const Method& method);

/// Whether the aggregator or the postprocessing must be fitted on pictures before it describes any.
RIA_API bool needs_vocabulary(const Method& method);

/// The table: published systems and the usual pairings.
RIA_API const std::vector<Method>& methods();

/// A row of methods(), or any other pairing <backbone>-<aggregator> of an untrained aggregator.
/// Throws std::invalid_argument listing the known names.
RIA_API const Method& find_method(const std::string& name);

/// The method, as choose_method() reads it, from its parts as other tools' flags give them:
/// ("cosplace", "ResNet50", "", 512) is cosplace-resnet50-512, ("", "dinov2-vits14", "vlad", 0) is
/// dinov2-vits14-vlad, ("resnet50-ria", "", "", 2080) is resnet50-ria:d=64. 33000 stands for the
/// 32896 of riax. A network that is in a file may be given with it: ("", "onnx:net.onnx", "gem", 0)
/// is onnx-gem:net.onnx. A part that is empty or 0 is the method's own. Throws
/// std::invalid_argument if there is none such.
RIA_API std::string method_name(const std::string& method,
                                const std::string& backbone,
                                const std::string& aggregator,
                                int descriptors_dimension);

/// A method and what it is told, as "resnet50-ria:d=128,center=true": options by their JSON keys,
/// in place of those in `options`. Where the network is any that is in a file, the file may come
/// first without a key: "onnx:net.onnx", "onnx-gem:net.onnx,p=4".
struct MethodChoice {
  const Method* method;
  MethodOptions options;
};
RIA_API MethodChoice choose_method(const std::string& text, const MethodOptions& options = {});

/// The options with every unset field that the method sets filled in.
RIA_API MethodOptions resolve_options(const Method& method, const MethodOptions& options);

/// What the options mean for pictures of this backbone.
RIA_API Preprocessing method_preprocessing(const Backbone& backbone, const MethodOptions& options);

/// Every option that shapes the descriptor of this method, as one line of JSON with sorted keys.
RIA_API std::string options_json(const Method& method, const MethodOptions& options);

/// The inverse of options_json(), in place of those in `base`; unknown keys are refused.
RIA_API MethodOptions parse_options_json(const std::string& json, const MethodOptions& base = {});

/// Names of the enumerators as flags and JSON spell them; parse_* throw listing the known ones.
RIA_API std::string to_string(Estimator estimator);
RIA_API std::string to_string(Mapping mapping);
RIA_API std::string to_string(GemSign sign);
RIA_API std::string to_string(Resize resize);
RIA_API std::string to_string(Precision precision);
RIA_API std::string to_string(Facet facet);
RIA_API std::string to_string(PositionRule rule);
/// Every field, in one line for records.
RIA_API std::string to_string(const Preprocessing& preprocessing);
RIA_API Estimator parse_estimator(const std::string& name);
RIA_API Mapping parse_mapping(const std::string& name);
RIA_API GemSign parse_gem_sign(const std::string& name);
RIA_API Resize parse_resize(const std::string& name);
RIA_API Precision parse_precision(const std::string& name);
RIA_API Facet parse_facet(const std::string& name);
RIA_API PositionRule parse_position_rule(const std::string& name);

}  // namespace ria
