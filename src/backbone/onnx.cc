// SPDX-License-Identifier: MIT
#include "backbone/onnx.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "backbone/onnx_network.h"
#include "ria/eigen.h"
#include "ria/weights.h"
#include "util/parallel.h"
#include "util/plugin.h"

namespace ria {

namespace {

/// Pixels that a network of any size is tried with, to see what comes out.
constexpr int kTrialSide = 224;

const OnnxFunctions& onnx_runtime(const std::string& file) {
  return plugin<OnnxFunctions>({"onnx",
                                "reading " + file,
                                "ONNX Runtime",
                                "put it where the system's loader looks, or its folder into "
                                "LD_LIBRARY_PATH"});
}

/// The file loaded for as many cores as the calling thread may use, once for each number. Most
/// programs use it in one way only: many pictures, a core each, or one on all.
class Sessions {
 public:
  explicit Sessions(std::string file) : file_(std::move(file)) {}

  const OnnxSession& of_this_thread() {
    const int cores = thread_cores();
    const std::lock_guard lock(mutex_);
    std::unique_ptr<OnnxSession>& session = sessions_[cores];
    if (!session) session = onnx_runtime(file_).open(file_, cores);
    return *session;
  }

 private:
  std::string file_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<OnnxSession>> sessions_;
};

class Onnx final : public Backbone {
 public:
  explicit Onnx(const BackboneOptions& options)
      : sha256_(file_sha256(options.weights)),
        sessions_(std::make_unique<Sessions>(options.weights)),
        network_(read_onnx_network(
            options.weights, sessions_->of_this_thread().description(), options.onnx)) {
    std::vector<std::int64_t> shape = network_.output.shape;
    const bool told = !shape.empty() && network_.dim(shape) > 0 &&
                      (shape.size() != 3 || network_.options.onnx_leading_tokens || shape[1] > 0);
    if (!told) shape = shape_of_a_trial();
    dim_ = network_.dim(shape);
    global_ = network_.is_global(shape);
    if (shape.size() == 3 && !network_.options.onnx_leading_tokens) find_leading_tokens(shape);
  }

  std::string name() const override { return "onnx"; }
  int dim() const override { return dim_; }
  bool is_global() const override { return global_; }
  Preprocessing preprocessing() const override { return network_.preprocessing; }
  std::string weights_sha256() const override { return sha256_; }
  double flops(int, int) const override { return 0; }

  PatchFeatures extract(const Pixels& pixels) const override {
    check_size(pixels);
    PatchFeatures features;
    run(pixels, [&](std::span<const std::int64_t> shape, const float* values) {
      features = network_.features(shape, values, pixels.height, pixels.width);
    });
    if (features.patches.cols() != dim_) {
      throw std::runtime_error(fmt::format("{}: output {} has {} values a patch, {} were expected",
                                           network_.file,
                                           network_.output.name,
                                           features.patches.cols(),
                                           dim_));
    }
    if (!as_eigen(features.patches).allFinite()) {
      throw std::runtime_error(
          fmt::format("{}: output {} holds NaN or infinity", network_.file, network_.output.name));
    }
    return features;
  }

 private:
  int trial_side(int fixed) const {
    const int multiple = network_.preprocessing.multiple;
    return fixed > 0 ? fixed : std::max(kTrialSide / multiple, 1) * multiple;
  }

  std::vector<std::int64_t> shape_of_a_trial() const {
    const int height = trial_side(network_.height), width = trial_side(network_.width);
    const Pixels grey{
        height, width, std::vector<float>(3 * static_cast<std::size_t>(height) * width)};
    std::vector<std::int64_t> found;
    run(grey, [&](std::span<const std::int64_t> shape, const float*) {
      found.assign(shape.begin(), shape.end());
    });
    return found;
  }

  void find_leading_tokens(std::span<const std::int64_t> shape) {
    const int height = trial_side(network_.height), width = trial_side(network_.width);
    const auto found = leading_tokens(static_cast<int>(shape[1]), height, width);
    if (!found) {
      throw std::invalid_argument(
          fmt::format("{}: output {} has the shape {} for {}x{} pixels, no grid of square patches: "
                      "onnx_leading_tokens must be told",
                      network_.file,
                      network_.output.name,
                      shape_text(shape),
                      height,
                      width));
    }
    network_.options.onnx_leading_tokens = *found;
  }

  void check_size(const Pixels& pixels) const {
    const auto fits = [](int side, int expected) { return expected == 0 || side == expected; };
    if (fits(pixels.height, network_.height) && fits(pixels.width, network_.width)) return;
    throw std::invalid_argument(fmt::format("{} reads pictures {}, this one has {}x{} pixels",
                                            network_.file,
                                            shape_text(network_.input.shape),
                                            pixels.height,
                                            pixels.width));
  }

  void run(const Pixels& pixels, const OnnxSession::Use& use) const {
    const std::size_t area = static_cast<std::size_t>(pixels.height) * pixels.width;
    std::vector<std::int64_t> shape{1, 3, pixels.height, pixels.width};
    std::span<const float> values = pixels.chw;
    std::vector<float> interleaved;
    if (network_.channels_last) {
      shape = {1, pixels.height, pixels.width, 3};
      interleaved.resize(pixels.chw.size());
      for (std::size_t i = 0; i < pixels.chw.size(); ++i) {
        interleaved[i] = pixels.chw[i % 3 * area + i / 3];
      }
      values = interleaved;
    }
    sessions_->of_this_thread().run(network_.input.name, shape, values, network_.output.name, use);
  }

  std::string sha256_;
  std::unique_ptr<Sessions> sessions_;
  OnnxNetwork network_;
  int dim_ = 0;
  bool global_ = false;
};

}  // namespace

std::unique_ptr<Backbone> make_onnx(const BackboneOptions& options) {
  if (options.weights.empty()) {
    throw std::invalid_argument(
        "backbone onnx stands for any network: weights are needed, the .onnx file that holds it");
  }
  if (options.precision != Precision::kFp32) {
    throw std::invalid_argument("precision: an ONNX file has its own, fp32 was expected");
  }
  onnx_runtime(options.weights);  // before a large file is read for its hash
  return std::make_unique<Onnx>(options);
}

}  // namespace ria
