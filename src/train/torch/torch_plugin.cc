// SPDX-License-Identifier: MIT
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <cctype>
#include <thread>

#include "train/torch/guarded.h"
#include "train/torch/ms_loss.h"
#include "train/torch/ria_heads.h"
#include "train/torch/setup.h"
#include "util/plugin.h"

namespace ria {

namespace {

/// LibTorch's warnings are for who programs with it; the library never prints.
class Silent final : public c10::WarningHandler {
 public:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning&) override {}
#else
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}
#endif
};

}  // namespace

void set_up(const EngineOptions& options) {
  static Silent* const silent = new Silent;  // used until the process ends
#if TORCH_VERSION_MAJOR >= 2
  c10::WarningUtils::set_warning_handler(silent);
#else
  c10::Warning::set_warning_handler(silent);
#endif
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  at::set_num_threads(options.num_threads > 0 ? options.num_threads : static_cast<int>(cores));
}

at::Device parse_device(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  const bool numbered =
      name.starts_with("cuda:") && name.size() > 5 && name.size() < 9 &&
      std::all_of(name.begin() + 5, name.end(), [](unsigned char c) { return std::isdigit(c); });
  if (name != "cuda" && !numbered) {
    throw std::invalid_argument(
        fmt::format("device is {}, cpu, cuda or cuda:N was expected", name));
  }
  if (!at::globalContext().hasCUDA()) {
    throw std::invalid_argument(
        fmt::format("device is {}: this LibTorch ({}) has no CUDA or finds no such device",
                    name,
                    TORCH_VERSION));
  }
  return {at::kCUDA, static_cast<c10::DeviceIndex>(numbered ? std::stoi(name.substr(5)) : 0)};
}

at::ScalarType parse_half(const std::string& precision, const at::Device& device) {
  if (precision == "fp32") return at::kFloat;
  if (precision == "bf16") return at::kBFloat16;
  if (precision != "fp16") {
    throw std::invalid_argument(
        fmt::format("train_precision is {}, fp32, bf16 or fp16 was expected", precision));
  }
  if (device.is_cpu()) {
    throw std::invalid_argument("train_precision fp16 needs device cuda (on a CPU: fp32 or bf16)");
  }
  return at::kHalf;
}

std::string torch_version() {
  const bool cuda = at::globalContext().hasCUDA();
  return fmt::format("{}, {}, {}", TORCH_VERSION, cuda ? "CUDA" : "CPU", worker_backend(cuda));
}

namespace {

TorchFunctions::LossResult loss_alone(const MatrixD& descriptors,
                                      const std::vector<std::int64_t>& labels,
                                      const EngineOptions& options) {
  return guarded([&] {
    const Tensor values = to_tensor(descriptors).requires_grad_(true);
    const MinedLoss mined = multi_similarity(values, at::tensor(labels, at::kLong), options);
    TorchFunctions::LossResult out;
    out.loss = mined.loss.item<double>();
    out.gradient = to_matrix_d(torch::autograd::grad({mined.loss}, {values})[0]);
    for (const Tensor& mask : {mined.positive, mined.negative}) {
      const Tensor pairs = at::nonzero(mask).t().contiguous();
      for (int side = 0; side < 2; ++side) {
        const auto* first = pairs[side].data_ptr<std::int64_t>();
        out.pairs.emplace_back(first, first + pairs.size(1));
      }
    }
    return out;
  });
}

TorchFunctions::RootResult root_alone(const MatrixD& matrix,
                                      const MatrixD& weight,
                                      int iterations,
                                      bool trace) {
  return guarded([&] {
    const Tensor values = to_tensor(matrix).requires_grad_(true);
    const Tensor root = newton_schulz_root(values, iterations, trace);
    const Tensor sum = (root * to_tensor(weight)).sum();
    return TorchFunctions::RootResult{to_matrix_d(root),
                                      to_matrix_d(torch::autograd::grad({sum}, {values})[0])};
  });
}

/// All of a head in float64, and its gradients by what goes in.
TorchFunctions::HeadResult head_alone(const MatrixD& patches,
                                      const NetworkShape& shape,
                                      const std::vector<std::pair<std::string, MatrixD>>& tensors,
                                      const VectorD& weight) {
  return guarded([&] {
    Tensors named;
    std::vector<Tensor> inputs{to_tensor(patches).unsqueeze(0).requires_grad_(true)};
    for (const auto& [name, values] : tensors) {
      Tensor value = to_tensor(values);
      if (name.ends_with(".bias")) value = value.reshape(-1);
      named[name] = value.requires_grad_(true);
      inputs.push_back(value);
    }
    const Tensor out = RiaHeads(shape, named).descriptors(inputs[0])[0];
    const Tensor along =
        at::from_blob(const_cast<double*>(weight.data()), {out.size(0)}, at::kDouble);
    TorchFunctions::HeadResult result;
    const Tensor value = (out * along).sum();
    result.value = value.item<double>();
    for (const Tensor& gradient : torch::autograd::grad({value}, inputs)) {
      result.gradients.push_back(
          to_matrix_d(gradient.dim() == 1 ? gradient.unsqueeze(0) : gradient));
    }
    return result;
  });
}

constexpr TorchFunctions kFunctions{torch_version, make_engine, loss_alone, root_alone, head_alone};

}  // namespace

}  // namespace ria

RIA_PLUGIN(torch, ria::kFunctions)
