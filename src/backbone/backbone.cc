// SPDX-License-Identifier: MIT
// The backbones by name.
#include "ria/backbone.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "backbone/resnet.h"
#include "backbone/rootsift.h"
#include "backbone/vgg.h"
#include "backbone/vit.h"
#include "fetch/cache.h"
#include "ria/weights.h"
#include "util/cpu.h"
#include "util/nearest_name.h"
#include "weights/architecture.h"

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
constexpr Family kDinov2{"dinov2", make_vit, ""};
constexpr Family kDino{"dino", make_vit, ""};

/// A backbone that needs weights. One that carries its family's name takes any network of it, and
/// only from a given file.
struct Network {
  std::string_view name;
  const Family& family;
  std::string_view weights;  // name in the weight cache
};

// clang-format off
constexpr Network kNetworks[] = {
    {"resnet18",          kResNet, "resnet18-torchvision"},
    {"resnet34",          kResNet, "resnet34-torchvision"},
    {"resnet50",          kResNet, "resnet50"},
    {"resnet101",         kResNet, "resnet101-torchvision"},
    {"resnet152",         kResNet, "resnet152-torchvision"},
    {"resnet",            kResNet, ""},
    {"vgg16",             kVgg,    "vgg16-torchvision"},
    {"vgg",               kVgg,    ""},
    {"dinov2-vits14",     kDinov2, "dinov2-vits14"},
    {"dinov2-vitb14",     kDinov2, "dinov2-vitb14"},
    {"dinov2-vitl14",     kDinov2, "dinov2-vitl14"},
    {"dinov2-vitg14",     kDinov2, "dinov2-vitg14"},
    {"dinov2-vits14-reg", kDinov2, "dinov2-vits14-reg"},
    {"dinov2-vitb14-reg", kDinov2, "dinov2-vitb14-reg"},
    {"dinov2-vitl14-reg", kDinov2, "dinov2-vitl14-reg"},
    {"dinov2-vitg14-reg", kDinov2, "dinov2-vitg14-reg"},
    {"dinov2",            kDinov2, ""},
    {"dino-vits8",        kDino,   "dino-vits8"},
    {"dino-vits16",       kDino,   "dino-vits16"},
    {"dino-vitb8",        kDino,   "dino-vitb8"},
    {"dino-vitb16",       kDino,   "dino-vitb16"},
    {"dino",              kDino,   ""},
};
// clang-format on

const Network* find_network(const std::string& name) {
  for (const Network& network : kNetworks) {
    if (network.name == name) return &network;
  }
  return nullptr;
}

const Network& known_network(const std::string& name) {
  if (const Network* network = find_network(name)) return *network;
  throw std::invalid_argument(unknown_name("backbone", name, backbone_names(), "ria methods"));
}

VerifiedWeights weights_of(const Network& network, const BackboneOptions& options) {
  if (!options.weights.empty()) return {options.weights, file_sha256(options.weights)};
  if (network.weights.empty()) {
    throw std::invalid_argument(
        fmt::format("backbone {} stands for any network of its kind: weights are needed, the file "
                    "that holds it",
                    network.name));
  }
  return verified_weights(std::string(network.weights));
}

/// "dinov2" and "dinov2-vitb14" are of the family "dinov2", "dinov2" is not of "dino".
bool of_family(std::string_view architecture, std::string_view family) {
  if (!architecture.starts_with(family)) return false;
  const std::string_view rest = architecture.substr(family.size());
  return rest.empty() || rest[0] == '-' || (rest[0] >= '0' && rest[0] <= '9');
}

void check_architecture(const Network& network, const TensorFile& file) {
  const std::string held = infer_architecture(file);
  const bool any = network.name == network.family.name;
  if (any ? of_family(held, network.family.name) : held == network.name) return;
  throw std::runtime_error(fmt::format("{} holds {}, {} was expected",
                                       file.path().string(),
                                       held == "unknown" ? "an unknown network" : held,
                                       network.name));
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

Backbone::~Backbone() = default;

std::unique_ptr<Backbone> Backbone::folded(const Matrix&) const { return nullptr; }

Matrix Backbone::reading() const { return {}; }

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

std::string default_weights(const std::string& backbone) {
  const Network* network = find_network(backbone);
  return network != nullptr ? std::string(network->weights) : "";
}

std::unique_ptr<Backbone> make_backbone(const BackboneWeights& weights,
                                        const BackboneOptions& options) {
  options.validate();
  const Network& network = known_network(weights.name);
  BackboneOptions resolved = options;
  if (resolved.cut.empty()) resolved.cut = network.family.cut;
  check_architecture(network, weights.file);
  return network.family.make(weights, resolved);
}

std::unique_ptr<Backbone> make_backbone(const std::string& name, const BackboneOptions& options) {
  options.validate();
  if (name == "rootsift") return make_rootsift();
  return make_backbone(open_backbone_weights(name, options), options);
}

BackboneWeights open_backbone_weights(const std::string& name, const BackboneOptions& options) {
  const Network& network = known_network(name);
  const VerifiedWeights weights = weights_of(network, options);
  BackboneWeights opened{name, TensorFile::open(weights.file), weights.sha256};
  check_architecture(network, opened.file);
  return opened;
}

std::string backbone_in(const TensorFile& file) {
  const std::string held = infer_architecture(file);
  if (find_network(held) != nullptr) return held;
  for (const Network& network : kNetworks) {
    if (network.name == network.family.name && of_family(held, network.name)) {
      return std::string(network.name);
    }
  }
  throw std::runtime_error(file.path().string() + " holds an unknown network");
}

}  // namespace ria
