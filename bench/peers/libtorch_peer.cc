// SPDX-License-Identifier: MIT
// One network in LibTorch: prints {"ms": best of the rounds, "output": file} as JSON. The networks
// are those of onnx_networks.mjs, with the operations of the official Python code.
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using torch::Tensor;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Weights {
  std::map<std::string, Tensor> tensors;
  nlohmann::json metadata = nlohmann::json::object();

  const Tensor& operator[](const std::string& name) const { return tensors.at(name); }
  bool has(const std::string& name) const { return tensors.count(name) > 0; }
};

/// A safetensors file of float32 tensors.
Weights read_weights(const std::string& path) {
  std::string bytes = read_file(path);
  uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size) throw std::runtime_error(path + ": too short");
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  if (header_size > bytes.size() - 8) throw std::runtime_error(path + ": header too long");
  const size_t data = 8 + header_size;
  const auto header = nlohmann::json::parse(bytes.begin() + 8, bytes.begin() + data);
  Weights weights;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      weights.metadata = entry;
      continue;
    }
    const auto shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
    Tensor tensor = torch::empty(shape);
    if (entry.at("dtype") != "F32" || offsets.size() != 2 || offsets[1] > bytes.size() - data ||
        offsets[1] - offsets[0] != tensor.nbytes()) {
      throw std::runtime_error(path + ": " + name + " is no float32 tensor");
    }
    std::memcpy(tensor.data_ptr<float>(), bytes.data() + data + offsets[0], tensor.nbytes());
    weights.tensors[name] = tensor;
  }
  return weights;
}

Tensor read_floats(const std::string& path, at::IntArrayRef shape) {
  const std::string bytes = read_file(path);
  Tensor tensor = torch::empty(shape);
  if (tensor.nbytes() != bytes.size()) throw std::runtime_error(path + ": of another size");
  std::memcpy(tensor.data_ptr<float>(), bytes.data(), bytes.size());
  return tensor;
}

Tensor norm(const Weights& w, const std::string& name, const Tensor& x) {
  return torch::layer_norm(x, {x.size(-1)}, w[name + ".weight"], w[name + ".bias"], 1e-6);
}

Tensor linear(const Weights& w, const std::string& name, const Tensor& x) {
  return torch::linear(x, w[name + ".weight"], w[name + ".bias"]);
}

Tensor attention(const Weights& w, const std::string& name, const Tensor& x) {
  const int64_t tokens = x.size(1), width = x.size(2), heads = width / 64;
  const Tensor qkv =
      linear(w, name + ".qkv", x).reshape({1, tokens, 3, heads, 64}).permute({2, 0, 3, 1, 4});
  const Tensor scores = torch::matmul(qkv[0] * 0.125, qkv[1].transpose(-2, -1));
  const Tensor mixed = torch::matmul(scores.softmax(-1), qkv[2]);
  return linear(w, name + ".proj", mixed.transpose(1, 2).reshape({1, tokens, width}));
}

/// All tokens of a vision transformer with DINOv2's names after the final norm.
Tensor transformer(const Weights& w, const Tensor& picture) {
  const Tensor& kernel = w["patch_embed.proj.weight"];
  const Tensor patches =
      torch::conv2d(picture, kernel, w["patch_embed.proj.bias"], {kernel.size(2), kernel.size(3)});
  Tensor x = torch::cat({w["cls_token"], patches.flatten(2).transpose(1, 2)}, 1) + w["pos_embed"];
  for (int i = 0; w.has("blocks." + std::to_string(i) + ".norm1.weight"); ++i) {
    const std::string block = "blocks." + std::to_string(i);
    x = x + attention(w, block + ".attn", norm(w, block + ".norm1", x)) * w[block + ".ls1.gamma"];
    const Tensor hidden = torch::gelu(linear(w, block + ".mlp.fc1", norm(w, block + ".norm2", x)));
    x = x + linear(w, block + ".mlp.fc2", hidden) * w[block + ".ls2.gamma"];
  }
  return norm(w, "norm", x);
}

/// Multiplies the batch norms of a ResNet into its convolutions.
void fold_batch_norms(Weights& w) {
  const double epsilon = std::stod(w.metadata.value("bn_eps", "1e-5"));
  const auto fold = [&](const std::string& conv, const std::string& bn) {
    const Tensor scale = w[bn + ".weight"] / torch::sqrt(w[bn + ".running_var"] + epsilon);
    w.tensors[conv + ".bias"] = w[bn + ".bias"] - w[bn + ".running_mean"] * scale;
    w.tensors[conv + ".weight"] = w[conv + ".weight"] * scale.view({-1, 1, 1, 1});
  };
  std::vector<std::string> convolutions;
  for (const auto& [name, tensor] : w.tensors) {
    if (tensor.dim() == 4) convolutions.push_back(name.substr(0, name.rfind('.')));
  }
  for (const std::string& conv : convolutions) {
    std::string bn = conv;
    const size_t last = conv.rfind("downsample.0");
    if (last != std::string::npos) {
      bn.back() = '1';
    } else {
      bn.replace(conv.rfind("conv"), 4, "bn");
    }
    fold(conv, bn);
  }
}

Tensor convolution(const Weights& w, const std::string& name, const Tensor& x, int64_t stride) {
  const Tensor& kernel = w[name + ".weight"];
  return torch::conv2d(x, kernel, w[name + ".bias"], stride, (kernel.size(2) - 1) / 2);
}

/// ResNet50 with torchvision's names, batch norms folded, up to stage `last` (4: layer3).
Tensor resnet(const Weights& w, const Tensor& picture, int last) {
  const bool stride_first = w.metadata.value("stride", "") == "first";
  Tensor x = torch::max_pool2d(convolution(w, "conv1", picture, 2).relu_(), 3, 2, 1);
  for (int stage = 1; stage < last; ++stage) {
    for (int b = 0;; ++b) {
      const std::string block = "layer" + std::to_string(stage) + "." + std::to_string(b);
      if (!w.has(block + ".conv1.weight")) break;
      const int64_t stride = b == 0 && stage > 1 ? 2 : 1;
      Tensor y = convolution(w, block + ".conv1", x, stride_first ? stride : 1).relu_();
      y = convolution(w, block + ".conv2", y, stride_first ? 1 : stride).relu_();
      y = convolution(w, block + ".conv3", y, 1);
      if (w.has(block + ".downsample.0.weight")) {
        x = convolution(w, block + ".downsample.0", x, stride);
      }
      x = y.add_(x).relu_();
    }
  }
  return x;
}

/// One row of channels for each place, as tokens are anyway.
Tensor place_major(const Tensor& output) {
  return (output.dim() == 4 ? output.permute({0, 2, 3, 1}) : output).contiguous();
}

std::map<std::string, std::string> read_options(int argc, char** argv) {
  std::map<std::string, std::string> options{{"rounds", "5"}, {"stage", "4"}};
  options["threads"] = std::to_string(std::thread::hardware_concurrency());
  for (int i = 1; i + 1 < argc; i += 2) options[std::string(argv[i]).substr(2)] = argv[i + 1];
  for (const char* needed : {"network", "weights", "input", "height", "width"}) {
    if (!options.count(needed))
      throw std::invalid_argument(std::string("--") + needed + " missing");
  }
  return options;
}

double milliseconds(const std::function<Tensor()>& body, int rounds) {
  double best = INFINITY;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

using Network = std::function<Tensor(const Tensor&)>;

/// The network as a function of the picture.
Network make_network(std::map<std::string, std::string>& options,
                     Weights& weights,
                     const Tensor& picture) {
  if (options["network"].rfind("resnet", 0) == 0) {
    fold_batch_norms(weights);
    const int last = std::stoi(options["stage"]);
    return [&weights, last](const Tensor& x) { return resnet(weights, x, last); };
  }
  if (options.count("pos_embed")) {
    const int64_t width = weights["cls_token"].size(2);
    const int64_t patch = weights["patch_embed.proj.weight"].size(2);
    const int64_t tokens = 1 + (picture.size(2) / patch) * (picture.size(3) / patch);
    weights.tensors["pos_embed"] = read_floats(options["pos_embed"], {1, tokens, width});
  }
  return [&weights](const Tensor& x) { return transformer(weights, x); };
}

void run(int argc, char** argv) {
  auto options = read_options(argc, argv);
  torch::InferenceMode inference;
  torch::set_num_threads(std::stoi(options["threads"]));
  const Tensor picture = read_floats(
      options["input"], {1, 3, std::stoi(options["height"]), std::stoi(options["width"])});
  Weights weights = read_weights(options["weights"]);
  const Network network = make_network(options, weights, picture);
  const Tensor output = place_major(network(picture));  // also the warm-up
  const double ms = milliseconds([&] { return network(picture); }, std::stoi(options["rounds"]));
  if (options.count("output")) {
    std::ofstream file(options["output"], std::ios::binary);
    file.write(static_cast<const char*>(output.data_ptr()), output.nbytes());
    if (!file.flush()) throw std::runtime_error(options["output"] + ": cannot be written");
  }
  std::cout << nlohmann::json{{"ms", ms}, {"output", options["output"]}} << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "libtorch_peer: " << error.what() << '\n';
    return 1;
  }
}
