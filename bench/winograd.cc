// SPDX-License-Identifier: MIT
#include "winograd.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <random>
#include <vector>

#include "nn/winograd.h"
#include "timing.h"
#include "util/parallel.h"

namespace ria::bench {

namespace {

using dnnl::memory;

void fill(float* values, std::size_t count) {
  std::minstd_rand engine(1);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < count; ++i) values[i] = normal(engine);
}

/// One layer by oneDNN, in the layouts it likes best.
class Direct {
 public:
  Direct(const Convolution& conv, int height, int width)
      : desc_(describe(conv, height, width)),
        source_(desc_.src_desc(), engine_),
        weights_(desc_.weights_desc(), engine_),
        bias_(desc_.bias_desc(), engine_, const_cast<float*>(conv.bias.data())),
        target_(desc_.dst_desc(), engine_),
        convolution_(desc_) {
    for (const memory& tensor : {source_, weights_}) {
      fill(static_cast<float*>(tensor.get_data_handle()),
           tensor.get_desc().get_size() / sizeof(float));
    }
  }

  void run() {
    convolution_.execute(stream_,
                         {{DNNL_ARG_SRC, source_},
                          {DNNL_ARG_WEIGHTS, weights_},
                          {DNNL_ARG_BIAS, bias_},
                          {DNNL_ARG_DST, target_}});
    stream_.wait();
  }

 private:
  dnnl::convolution_forward::primitive_desc describe(const Convolution& conv,
                                                     int height,
                                                     int width) {
    const auto any = [](const memory::dims& dims) {
      return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
    };
    dnnl::post_ops relu;
    relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    dnnl::primitive_attr attr;
    attr.set_post_ops(relu);
    const memory::dims ones{1, 1};
    return {{dnnl::prop_kind::forward_inference,
             dnnl::algorithm::convolution_direct,
             any({1, conv.in, height, width}),
             any({conv.out, conv.in, 3, 3}),
             any({conv.out}),
             any({1, conv.out, height, width}),
             ones,
             ones,
             ones},
            attr,
            engine_};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::convolution_forward::primitive_desc desc_;
  memory source_, weights_, bias_, target_;
  dnnl::convolution_forward convolution_;
};

/// The same by Winograd's algorithm.
class Tiles {
 public:
  Tiles(const Convolution& conv,
        int height,
        int width,
        const PanelKernels& kernels,
        const WinogradKernels& transforms)
      : weights_(conv, kernels, transforms),
        layer_(weights_,
               {height, width, kernels.width},
               {height, width, kernels.width},
               omp_get_max_threads()),
        source_(static_cast<std::size_t>(conv.in) * height * width),
        target_(static_cast<std::size_t>(conv.out) * height * width),
        scratch_(layer_.scratch_size() / sizeof(float)) {
    fill(source_.data(), source_.size());
  }

  void run() { layer_.run(source_.data(), target_.data(), false, true, scratch_.data()); }

 private:
  WinogradWeights weights_;
  WinogradLayer layer_;
  AlignedBuffer<float> source_, target_, scratch_;
};

struct Shape {
  int in, out, height, width;
};

/// For pictures of this size; a stage halves the sides and rounds up.
std::vector<Shape> shapes(int height, int width) {
  std::vector<Shape> list;
  const auto add = [&](int in, int out, int shrunk) {
    list.push_back({in, out, (height + shrunk - 1) / shrunk, (width + shrunk - 1) / shrunk});
  };
  for (int stage = 0; stage < 4; ++stage) add(64 << stage, 64 << stage, 4 << stage);  // ResNet
  add(64, 64, 1);                                                                     // VGG16
  for (int stage = 1; stage < 4; ++stage) {
    add(32 << stage, 64 << stage, 1 << stage);
    add(64 << stage, 64 << stage, 1 << stage);
  }
  add(512, 512, 16);
  return list;
}

/// Times of the three ways; how much longer the rule's choice takes than the best.
double measure(int rounds, const Shape& shape, int threads) {
  const PanelKernels& kernels = *panel_kernels().front();
  Convolution conv{shape.out, shape.in, 3, 1, 1, {}, std::vector<float>(shape.out)};
  conv.weight.resize(static_cast<std::size_t>(shape.out) * shape.in * 9);
  fill(conv.weight.data(), conv.weight.size());
  omp_set_num_threads(threads);
  Direct direct(conv, shape.height, shape.width);
  Tiles small(conv, shape.height, shape.width, kernels, kernels.winograd_2x4);
  Tiles large(conv, shape.height, shape.width, kernels, kernels.winograd_4x4);
  const std::vector<double> best =
      best_of(rounds, {[&] { direct.run(); }, [&] { small.run(); }, [&] { large.run(); }});
  const auto expected = [&](const WinogradKernels& transforms) {
    return direct_cycles(conv, shape.height, shape.width, kernels) /
           winograd_cycles(conv, shape.height, shape.width, kernels, transforms);
  };
  const WinogradKernels* chosen = choose_winograd(conv, shape.height, shape.width, kernels);
  const int choice = chosen == nullptr ? 0 : chosen == &kernels.winograd_2x4 ? 1 : 2;
  constexpr const char* kNames[] = {"direct", "2x4", "4x4"};
  fmt::print(
      "{:>4} {:>4} {:>4}x{:<4} {:>7} {:>9.3f} {:>9.3f} {:>9.3f} {:>6.2f} {:>6.2f} {:>6.2f} "
      "{:>6.2f}  {}\n",
      shape.in,
      shape.out,
      shape.width,
      shape.height,
      threads,
      best[0] * 1e3,
      best[1] * 1e3,
      best[2] * 1e3,
      best[0] / best[1],
      best[0] / best[2],
      expected(kernels.winograd_2x4),
      expected(kernels.winograd_4x4),
      kNames[choice]);
  std::fflush(stdout);
  return best[choice] / *std::min_element(best.begin(), best.end());
}

}  // namespace

void winograd_table(int rounds, const std::function<void(const std::string&, double)>& put) {
  fmt::print(
      "kernels: {}. Milliseconds by oneDNN and in tiles, how many times faster tiles are,\n"
      "how many times the rule expects, and what it takes.\n"
      "{:>4} {:>4} {:>9} {:>7} {:>9} {:>9} {:>9} {:>6} {:>6} {:>6} {:>6}  {}\n",
      panel_kernels().front()->name,
      "in",
      "out",
      "pixels",
      "threads",
      "direct",
      "2x4",
      "4x4",
      "2x4",
      "4x4",
      "2x4",
      "4x4",
      "rule");
  double worst = 1;
  const int cores = num_cores();
  for (const auto& [width, height] : {std::pair{224, 224}, {480, 272}}) {
    for (const Shape& shape : shapes(height, width)) {
      for (int threads = 1; threads <= cores; threads += std::max(cores - 1, 1)) {
        worst = std::max(worst, measure(rounds, shape, threads));
      }
    }
  }
  omp_set_num_threads(cores);
  put("winograd_rule_over_best", worst);
}

}  // namespace ria::bench
