// SPDX-License-Identifier: MIT
// Networks with random weights of published shapes, and one network run alone so that its time,
// output and memory can be compared with another program's.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "ria/backbone.h"

namespace ria::bench {

/// A folder of made-up weight files that goes with it.
class RandomWeights {
 public:
  RandomWeights();
  ~RandomWeights();
  RandomWeights(const RandomWeights&) = delete;
  RandomWeights& operator=(const RandomWeights&) = delete;

  /// The file of a network: vits14, vitb14, vitl14, vitg14 or megaloc.
  std::string write(const std::string& network) const;

 private:
  std::filesystem::path folder_;
};

/// The file of a transformer (vits14, vitb14, vitl14, vitg14 or megaloc) under its published names.
void write_random_weights(const std::string& network, const std::filesystem::path& file);

Pixels random_pixels(int height, int width);

/// A transformer with all its blocks and its final norm (of megaloc without its head), or resnet50
/// to layer3.
std::unique_ptr<Backbone> make_network(const std::string& network,
                                       const std::string& weights,
                                       Precision precision);

/// What --network is told.
struct NetworkRun {
  std::string network;
  std::string write;  ///< file to write random weights to, instead of running
  std::string weights;
  std::string input;  ///< raw float32 [3, height, width]; empty: random
  int height = 224;
  int width = 224;
  std::string precision = "fp32";
  /// Raw float32, one row a token or place, class token first; of megaloc the descriptor.
  std::string output;
  bool value_facet = false;  ///< what RIA reads: the default layer's values
};

void add_network_flags(CLI::App& program, NetworkRun& run);

/// Prints one line of JSON: ms, gflops, weights_mb, peak_mb.
void run_network(const NetworkRun& run, int rounds);

}  // namespace ria::bench
