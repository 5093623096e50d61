// SPDX-License-Identifier: MIT
#include "networks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/method.h"
#include "timing.h"
#include "util/files.h"
#include "weights/safetensors.h"

namespace ria::bench {

namespace fs = std::filesystem;

namespace {

struct Shape {
  const char* name;
  int dim, depth, hidden;
  bool gated;
};

constexpr Shape kShapes[] = {{"vits14", 384, 12, 1536, false},
                             {"vitb14", 768, 12, 3072, false},
                             {"vitl14", 1024, 24, 4096, false},
                             {"vitg14", 1536, 40, 4096, true}};

const Shape& shape_of(const std::string& network) {
  for (const Shape& shape : kShapes) {
    if (shape.name == network) return shape;
  }
  throw std::invalid_argument(fmt::format(
      "unknown network '{}', known: vits14, vitb14, vitl14, vitg14, resnet50", network));
}

/// Nearly normal numbers, quickly: a giant has a thousand million of them.
class Numbers {
 public:
  std::vector<float> take(std::size_t count, float scale, float mean = 0) {
    std::vector<float> values(count);
    for (float& value : values) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      const auto part = [&](int shift) { return static_cast<float>((state_ >> shift) & 0xffff); };
      // Three uniform numbers: variance 1/4 at this width.
      value = mean + scale * 2 * ((part(16) + part(32) + part(48)) / 65536 - 1.5f);
    }
    return values;
  }

 private:
  std::uint64_t state_ = 42;
};

}  // namespace

void write_random_weights(const std::string& network, const fs::path& file) {
  const Shape& shape = shape_of(network);
  const int dim = shape.dim;
  Numbers numbers;
  TensorMap tensors;
  const auto add =
      [&](const std::string& name, std::vector<std::int64_t> sides, float scale, float mean = 0) {
        std::size_t count = 1;
        for (const auto side : sides) count *= static_cast<std::size_t>(side);
        tensors[name] = make_tensor(std::move(sides), numbers.take(count, scale, mean));
      };
  const auto linear = [&](const std::string& name, int out, int in) {
    add(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
    add(name + ".bias", {out}, 0.02f);
  };
  add("cls_token", {1, 1, dim}, 0.02f);
  add("pos_embed", {1, 1370, dim}, 0.02f);
  add("patch_embed.proj.weight", {dim, 3, 14, 14}, 0.04f);
  add("patch_embed.proj.bias", {dim}, 0.02f);
  for (int b = 0; b < shape.depth; ++b) {
    const std::string block = fmt::format("blocks.{}.", b);
    for (const char* norm : {"norm1", "norm2"}) {
      add(block + norm + ".weight", {dim}, 0.1f, 1);
      add(block + norm + ".bias", {dim}, 0.05f);
    }
    add(block + "ls1.gamma", {dim}, 0.1f, 0.3f);
    add(block + "ls2.gamma", {dim}, 0.1f, 0.3f);
    linear(block + "attn.qkv", 3 * dim, dim);
    linear(block + "attn.proj", dim, dim);
    linear(
        block + (shape.gated ? "mlp.w12" : "mlp.fc1"), shape.hidden * (shape.gated ? 2 : 1), dim);
    linear(block + (shape.gated ? "mlp.w3" : "mlp.fc2"), dim, shape.hidden);
  }
  add("norm.weight", {dim}, 0.1f, 1);
  add("norm.bias", {dim}, 0.05f);
  write_safetensors(file, tensors);
}

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

Pixels random_pixels(int height, int width) {
  return {height, width, Numbers().take(static_cast<std::size_t>(3) * height * width, 1)};
}

std::unique_ptr<Backbone> make_network(const std::string& network,
                                       const std::string& weights,
                                       Precision precision) {
  BackboneOptions options;
  options.weights = weights;
  options.precision = precision;
  if (network == "resnet50") return make_backbone(network, options);
  options.final_norm = true;
  return make_backbone("dinov2-" + std::string(shape_of(network).name), options);
}

void add_network_flags(CLI::App& program, NetworkRun& run) {
  const std::string group = "One network alone";
  const auto flag = [&](const char* name, auto& field, const char* text) {
    return program.add_option(name, field, text)->group(group);
  };
  flag("--network", run.network, "vits14, vitb14, vitl14, vitg14 or resnet50");
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

void write_features(const std::string& file, const PatchFeatures& features) {
  std::ofstream out(file, std::ios::binary);
  const auto write = [&](const float* values, Eigen::Index count) {
    out.write(reinterpret_cast<const char*>(values),
              count * static_cast<std::streamsize>(sizeof(float)));
  };
  write(features.class_token.data(), features.class_token.size());
  write(features.patches.data(), features.patches.size());
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
  PatchFeatures features;
  const double best = best_of(rounds, {[&] { features = network->extract(pixels); }})[0];
  if (!run.output.empty()) write_features(run.output, features);
  const double flops = network->flops(run.height, run.width);
  nlohmann::ordered_json figures{
      {"ms", best * 1e3},
      {"gflops", flops / best / 1e9},
      {"weights_mb", weights.empty() ? 0.0 : static_cast<double>(fs::file_size(weights)) / 1e6},
      {"peak_mb", peak_megabytes()}};
  fmt::print("{}\n", figures.dump());
}

}  // namespace ria::bench
