// SPDX-License-Identifier: MIT
#include "train/engine.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "train/torch/adam_w.h"
#include "train/torch/guarded.h"
#include "train/torch/half.h"
#include "train/torch/ms_loss.h"
#include "train/torch/ria_heads.h"
#include "train/torch/setup.h"
#include "train/torch/trunk.h"
#include "train/torch/workers.h"

namespace ria {

namespace {

constexpr double kFp16Scale = 4096;  // of the loss, so that small gradients of the trunk survive

class Engine final : public TrainEngine {
 public:
  Engine(const NetworkShape& shape,
         const std::vector<NamedTensor>& tensors,
         const std::vector<std::string>& trained,
         const EngineOptions& options)
      : options_(options),
        device_(parse_device(options.device)),
        half_(parse_half(options.precision, device_)) {
    const std::set<std::string> wanted(trained.begin(), trained.end());
    for (const NamedTensor& named : tensors) {
      Tensor value = to_tensor(named).to(device_);
      // Convolutions in this layout read channels-last batches as they are.
      if (value.dim() == 4) value = value.contiguous(at::MemoryFormat::ChannelsLast);
      value.requires_grad_(wanted.count(named.name) != 0);
      if (!tensors_.emplace(named.name, value).second) {
        throw std::invalid_argument("tensor " + named.name + " is given twice");
      }
      if (!value.requires_grad()) continue;
      trained_.push_back({named.name,
                          value,
                          named.name.starts_with("heads."),
                          zeros_like(value),
                          zeros_like(value)});
    }
    for (const std::string& name : wanted) tensor_at(tensors_, name);
    trunk_ = make_trunk(shape, tensors_);
    heads_ = std::make_unique<RiaHeads>(shape, tensors_, half_);
    if (options.workers.count > 1) group_ = WorkerGroup::join(options.workers, device_);
  }

  StepResult step(const TrainBatch& batch, double trunk_rate, double head_rate) override {
    return guarded([&] {
      const Slope slope = slope_of(batch);
      if (!slope.result.finite) return slope.result;
      const at::NoGradGuard no_grad;
      const double norm = slope.result.gradient_norm;
      Tensor all = slope.all;
      if (options_.clip_norm > 0 && norm > options_.clip_norm) all.mul_(options_.clip_norm / norm);
      ++steps_;
      std::int64_t first = 0;
      for (Trained& one : trained_) {
        const Tensor own = all.narrow(0, first, one.value.numel()).view(one.value.sizes());
        AdamW(options_, one.head ? head_rate : trunk_rate, steps_)(one, own);
        first += one.value.numel();
      }
      return slope.result;
    });
  }

  std::vector<NamedTensor> gradients(const TrainBatch& batch) override {
    return guarded([&] {
      const Slope slope = slope_of(batch);
      std::vector<NamedTensor> out;
      std::int64_t first = 0;
      for (const Trained& one : trained_) {
        if (!slope.all.defined()) break;
        out.push_back(to_named(
            one.name, slope.all.narrow(0, first, one.value.numel()).view(one.value.sizes())));
        first += one.value.numel();
      }
      return out;
    });
  }

  Matrix embed(const TrainBatch& batch) override {
    return guarded([&] {
      const at::NoGradGuard no_grad;
      return to_matrix(heads_->descriptors(patches(batch)));
    });
  }

  Matrix head_vectors(const TrainBatch& batch) override {
    return guarded([&] {
      const at::NoGradGuard no_grad;
      return to_matrix(at::cat(heads_->vectors(patches(batch)), -1));
    });
  }

  Matrix features(const TrainBatch& batch) override {
    return guarded([&] {
      const at::NoGradGuard no_grad;
      return to_matrix(patches(batch));
    });
  }

  std::vector<NamedTensor> tensors() override {
    return guarded([&] {
      std::vector<NamedTensor> out;
      for (const auto& [name, value] : tensors_) out.push_back(to_named(name, value));
      return out;
    });
  }

  void set_tensors(const std::vector<NamedTensor>& tensors) override {
    guarded([&] {
      for (const NamedTensor& named : tensors) assign(named, tensor_at(tensors_, named.name));
    });
  }

  EngineState state() override {
    return guarded([&] {
      EngineState out;
      out.steps = steps_;
      for (const Trained& one : trained_) {
        out.tensors.push_back(to_named(one.name, one.value));
        out.tensors.push_back(to_named(one.name + "#m", one.m));
        out.tensors.push_back(to_named(one.name + "#v", one.v));
      }
      return out;
    });
  }

  void set_state(const EngineState& state) override {
    guarded([&] {
      Tensors own;
      for (const Trained& one : trained_) {
        own[one.name] = one.value;
        own[one.name + "#m"] = one.m;
        own[one.name + "#v"] = one.v;
      }
      if (state.tensors.size() != own.size()) {
        throw std::invalid_argument(fmt::format(
            "the state holds {} tensors, {} were expected", state.tensors.size(), own.size()));
      }
      for (const NamedTensor& named : state.tensors) assign(named, tensor_at(own, named.name));
      steps_ = state.steps;
    });
  }

  std::vector<std::string> exchange(const std::string& text) override {
    if (!group_) return {text};
    return guarded([&] {
      const Tensor own = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
      std::copy(text.begin(), text.end(), own.data_ptr<std::uint8_t>());
      std::vector<std::string> out;
      for (const Tensor& one : group_->gather_rows(own)) {
        const Tensor bytes = one.contiguous();
        out.emplace_back(reinterpret_cast<const char*>(bytes.data_ptr<std::uint8_t>()),
                         bytes.numel());
      }
      return out;
    });
  }

  Matrix gather(const Matrix& rows) override {
    if (!group_) return rows;
    return guarded([&] {
      const Tensor own =
          at::from_blob(const_cast<float*>(rows.data()), {rows.rows(), rows.cols()}, at::kFloat);
      return to_matrix(at::cat(group_->gather_rows(own)));
    });
  }

 private:
  /// Everything a step is made of.
  struct Slope {
    StepResult result;
    Tensor all;  ///< gradients of all trained tensors one after the other, summed over workers
  };

  static Tensor zeros_like(const Tensor& value) { return at::zeros_like(value.detach()); }

  static void assign(const NamedTensor& named, const Tensor& to) {
    if (named.shape != to.sizes().vec()) {
      throw std::invalid_argument(fmt::format("tensor {} is [{}], [{}] was expected",
                                              named.name,
                                              fmt::join(named.shape, ", "),
                                              fmt::join(to.sizes().vec(), ", ")));
    }
    const at::NoGradGuard no_grad;
    to.copy_(to_tensor(named));
  }

  /// Heads read float32, whatever the trunk computes in.
  Tensor patches(const TrainBatch& batch) const {
    const HalfPrecision half(half_, device_);
    return trunk_->features(batch, device_).to(at::kFloat);
  }

  Slope slope_of(const TrainBatch& batch) {
    if (static_cast<int>(batch.labels.size()) != batch.count) {
      throw std::invalid_argument(
          fmt::format("a batch of {} pictures has {} labels", batch.count, batch.labels.size()));
    }
    // A worker that has no share of a small batch still takes part.
    const Tensor own = batch.count > 0 ? heads_->descriptors(patches(batch))
                                       : at::zeros({0, heads_->dim()}, at::kFloat).to(device_);
    Tensor all = own;
    Tensor labels = at::tensor(batch.labels, at::kLong).to(device_);
    if (group_) {
      std::vector<Tensor> rows = group_->gather_rows(own);
      rows[options_.workers.rank] = own;  // the others' are numbers here, and variables there
      all = at::cat(rows);
      labels = at::cat(group_->gather_rows(labels));
    }
    const MinedLoss mined = multi_similarity(all, labels, options_);
    Slope slope;
    if (batch.count > 0) slope.result.descriptors = to_matrix(own);
    slope.result.loss = mined.loss.item<double>();
    slope.result.positive_pairs = mined.positive.sum().item<std::int64_t>();
    slope.result.negative_pairs = mined.negative.sum().item<std::int64_t>();
    // A mask may hide what is no number, so the descriptors are asked themselves.
    slope.result.finite =
        std::isfinite(slope.result.loss) && at::isfinite(all.detach()).all().item<bool>();
    if (slope.result.finite) add_gradients(mined.loss, slope);
    return slope;
  }

  void add_gradients(const Tensor& total, Slope& slope) {
    std::vector<Tensor> values;
    for (const Trained& one : trained_) values.push_back(one.value);
    if (values.empty()) throw std::invalid_argument("nothing is trained: no gradients");
    double norm = std::numeric_limits<double>::infinity();
    for (double scale = half_ == at::kHalf ? kFp16Scale : 1; scale >= 1 && !std::isfinite(norm);
         scale /= 8) {
      std::vector<Tensor> found(values.size());
      if (total.requires_grad()) {
        found = torch::autograd::grad({total * scale}, values, {}, half_ == at::kHalf, false, true);
      }
      for (std::size_t i = 0; i < found.size(); ++i) {
        found[i] = found[i].defined() ? found[i].reshape(-1) : zeros_like(values[i]).reshape(-1);
      }
      slope.all = at::cat(found);
      if (scale != 1) slope.all.div_(scale);
      if (group_) group_->sum(slope.all);
      norm = at::norm(slope.all).item<double>();
    }
    slope.result.gradient_norm = norm;
    slope.result.finite = std::isfinite(norm);
  }

  EngineOptions options_;
  at::Device device_;
  at::ScalarType half_;  ///< kFloat: none
  Tensors tensors_;
  std::vector<Trained> trained_;
  long long steps_ = 0;
  std::unique_ptr<Trunk> trunk_;
  std::unique_ptr<RiaHeads> heads_;
  std::unique_ptr<WorkerGroup> group_;
};

}  // namespace

std::unique_ptr<TrainEngine> make_engine(const NetworkShape& shape,
                                         const std::vector<NamedTensor>& tensors,
                                         const std::vector<std::string>& trained,
                                         const EngineOptions& options) {
  return guarded([&]() -> std::unique_ptr<TrainEngine> {
    set_up(options);
    return std::make_unique<Engine>(shape, tensors, trained, options);
  });
}

}  // namespace ria
