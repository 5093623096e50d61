// SPDX-License-Identifier: MIT
// The backbones by name.
#include "ria/backbone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "backbone/resnet.h"
#include "backbone/rootsift.h"
#include "backbone/vgg.h"
#include "util/cpu.h"
#include "util/hash.h"
#include "weights/architecture.h"
#include "weights/cache.h"

namespace ria {

namespace {

using Make = std::unique_ptr<Backbone> (*)(const BackboneWeights&, const BackboneOptions&);

/// Networks of one kind.
struct Family {
  std::string_view name;
  Make make;
  std::string_view cut;  // where a convolutional network is cut by default; empty: not one
};

constexpr Family kResNet{"resnet", make_resnet, "layer3"};
constexpr Family kVgg{"vgg", make_vgg, "conv5_3"};

/// A backbone that needs weights. One that carries its family's name takes any network of it, and
/// only from a given file.
struct Network {
  std::string_view name;
  const Family& family;
  std::string_view weights;  // name in the weight cache
};

constexpr std::array<Network, 8> kNetworks{{{"resnet18", kResNet, "resnet18-torchvision"},
                                            {"resnet34", kResNet, "resnet34-torchvision"},
                                            {"resnet50", kResNet, "resnet50"},
                                            {"resnet101", kResNet, "resnet101-torchvision"},
                                            {"resnet152", kResNet, "resnet152-torchvision"},
                                            {"resnet", kResNet, ""},
                                            {"vgg16", kVgg, "vgg16-torchvision"},
                                            {"vgg", kVgg, ""}}};

const Network* find_network(const std::string& name) {
  for (const Network& network : kNetworks) {
    if (network.name == name) return &network;
  }
  return nullptr;
}

VerifiedWeights weights_of(const Network& network, const BackboneOptions& options) {
  if (!options.weights.empty()) return {options.weights, sha256_file(options.weights)};
  if (network.weights.empty()) {
    throw std::invalid_argument(
        fmt::format("backbone {} stands for any network of its kind: weights are needed, the file "
                    "that holds it",
                    network.name));
  }
  return verified_weights(std::string(network.weights));
}

void check_architecture(const Network& network, const TensorFile& file) {
  if (network.name == network.family.name) return;
  const std::string held = infer_architecture(file);
  if (held != network.name) {
    throw std::runtime_error(fmt::format("{} holds {}, {} was expected",
                                         file.path().string(),
                                         held == "unknown" ? "an unknown network" : held,
                                         network.name));
  }
}

}  // namespace

void BackboneOptions::validate() const {
  if (stride < 0) {
    throw std::invalid_argument(
        fmt::format("stride is {}, 0 (the patch size) or more was expected", stride));
  }
  if (precision == Precision::kBf16 && !cpu_has_bf16()) {
    throw std::invalid_argument(
        "precision bf16: this CPU has no bfloat16 instructions (use fp32 or int8)");
  }
}

std::unique_ptr<Backbone> Backbone::folded(const Matrix&) const { return nullptr; }

std::vector<std::string> backbone_names() {
  std::vector<std::string> names;
  for (const Network& network : kNetworks) names.emplace_back(network.name);
  names.emplace_back("rootsift");
  return names;
}

std::string default_cut(const std::string& backbone) {
  const Network* network = find_network(backbone);
  return network != nullptr ? std::string(network->family.cut) : "";
}

std::unique_ptr<Backbone> make_backbone(const std::string& name, const BackboneOptions& options) {
  options.validate();
  if (name == "rootsift") return make_rootsift();
  const Network* network = find_network(name);
  if (network == nullptr) {
    throw std::invalid_argument(
        fmt::format("unknown backbone '{}', known: {}", name, fmt::join(backbone_names(), ", ")));
  }
  const VerifiedWeights weights = weights_of(*network, options);
  BackboneOptions resolved = options;
  if (resolved.cut.empty()) resolved.cut = network->family.cut;
  const BackboneWeights opened{name, TensorFile::open(weights.file), weights.sha256};
  check_architecture(*network, opened.file);
  return network->family.make(opened, resolved);
}

}  // namespace ria
