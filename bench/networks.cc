// SPDX-License-Identifier: MIT
#include "networks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "head/heads.h"
#include "method/random_weights.h"
#include "ria/method.h"
#include "tensor/safetensors.h"
#include "timing.h"
#include "util/files.h"

namespace ria::bench {

namespace fs = std::filesystem;

RandomWeights::RandomWeights()
    : folder_(fs::temp_directory_path() / fmt::format("ria_bench_weights_{}", ::getpid())) {
  fs::create_directories(folder_);
}

RandomWeights::~RandomWeights() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string RandomWeights::write(const std::string& network) const {
  const fs::path file = folder_ / (network + ".safetensors");
  if (!fs::exists(file)) write_random_weights(network, file);
  return file.string();
}

void write_random_weights(const std::string& network, const fs::path& file) {
  const TensorFile made = network == "megaloc" ? random_weights(find_method(network))
                                               : random_backbone("dinov2-" + network);
  write_safetensors(file, made.tensors());
}

Pixels random_pixels(int height, int width) {
  Pixels pixels{height, width, std::vector<float>(static_cast<std::size_t>(3) * height * width)};
  std::minstd_rand engine(42);
  std::normal_distribution<float> normal;
  for (float& value : pixels.chw) value = normal(engine);
  return pixels;
}

std::unique_ptr<Backbone> make_network(const std::string& network,
                                       const std::string& weights,
                                       Precision precision) {
  BackboneOptions options;
  options.weights = weights;
  options.precision = precision;
  if (network == "resnet50") return make_backbone(network, options);
  options.final_norm = true;
  return make_backbone("dinov2-" + (network == "megaloc" ? "vitb14" : network), options);
}

void add_network_flags(CLI::App& program, NetworkRun& run) {
  const std::string group = "One network alone";
  const auto flag = [&](const char* name, auto& field, const char* text) {
    return program.add_option(name, field, text)->group(group);
  };
  flag("--network", run.network, "vits14, vitb14, vitl14, vitg14, megaloc or resnet50");
  flag("--write_weights", run.write, "write random weights of that network and stop")
      ->type_name("FILE");
  flag("--weights", run.weights, "weight file; without it random ones")->type_name("FILE");
  flag("--input", run.input, "raw float32 [3, height, width]; without it random")
      ->type_name("FILE");
  flag("--height", run.height, "pixels");
  flag("--width", run.width, "pixels");
  flag("--precision", run.precision, "fp32, int8 or bf16");
  flag("--output", run.output, "write the features as raw float32")->type_name("FILE");
  program.add_flag("--value_facet", run.value_facet, "what RIA reads instead of the last tokens")
      ->group(group);
}

namespace {

Pixels read_pixels(const NetworkRun& run) {
  if (run.input.empty()) return random_pixels(run.height, run.width);
  Pixels pixels{run.height,
                run.width,
                std::vector<float>(static_cast<std::size_t>(3) * run.height * run.width)};
  std::ifstream in(run.input, std::ios::binary);
  in.read(reinterpret_cast<char*>(pixels.chw.data()),
          static_cast<std::streamsize>(pixels.chw.size() * sizeof(float)));
  if (!in)
    throw std::runtime_error(
        fmt::format("{} holds no {}x{} picture", run.input, run.height, run.width));
  return pixels;
}

void write_values(const std::string& file, std::initializer_list<std::span<const float>> parts) {
  std::ofstream out(file, std::ios::binary);
  for (const std::span<const float> values : parts) {
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size_bytes()));
  }
  if (!out) throw std::runtime_error("cannot write " + file);
}

/// The most memory the process has held, MB.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024 / 1e6;
  }
  return 0;
}

}  // namespace

void run_network(const NetworkRun& run, int rounds) {
  const RandomWeights folder;
  const std::string weights =
      run.weights.empty() && run.network != "resnet50" ? folder.write(run.network) : run.weights;
  const Precision precision = parse_precision(run.precision);
  BackboneOptions options;
  options.weights = weights;
  options.precision = precision;
  const auto network = run.value_facet ? make_backbone("dinov2-" + run.network, options)
                                       : make_network(run.network, weights, precision);
  const Pixels pixels = read_pixels(run);
  const auto head = run.network == "megaloc" ? read_megaloc(TensorFile::open(weights)) : nullptr;
  PatchFeatures features;
  Descriptor descriptor;
  const double best = best_of(rounds, {[&] {
                                features = network->extract(pixels);
                                if (head) descriptor = head->aggregate(features);
                              }})[0];
  if (!run.output.empty() && head) write_values(run.output, {descriptor});
  if (!run.output.empty() && !head) {
    write_values(run.output, {features.class_token, features.patches.values()});
  }
  const double flops = network->flops(run.height, run.width);
  nlohmann::ordered_json figures{
      {"ms", best * 1e3},
      {"gflops", flops / best / 1e9},
      {"weights_mb", weights.empty() ? 0.0 : static_cast<double>(fs::file_size(weights)) / 1e6},
      {"peak_mb", peak_megabytes()}};
  fmt::print("{}\n", figures.dump());
}

}  // namespace ria::bench
