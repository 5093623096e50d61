// SPDX-License-Identifier: MIT
// Once a size is known, a picture costs no memory but its result. Every allocation of this program,
// whoever asks for it, goes through the functions below; that is why it is a program of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "backbone/conv_backbone.h"
#include "backbone/vit.h"
#include "support/random_network.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define RIA_COUNTS_ALLOCATIONS 0
#else
#define RIA_COUNTS_ALLOCATIONS 1
#endif

namespace {

constexpr std::size_t kLarge = 1 << 20;
std::atomic<std::size_t> allocated_bytes{0}, large_allocations{0};

}  // namespace

#if RIA_COUNTS_ALLOCATIONS
namespace {

void count(std::size_t bytes) {
  allocated_bytes += bytes;
  if (bytes >= kLarge) ++large_allocations;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  count(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t items, std::size_t bytes) noexcept {
  count(items * bytes);
  return __libc_calloc(items, bytes);
}
void* realloc(void* old, std::size_t bytes) noexcept {
  count(bytes);
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) noexcept {
  *to = memalign(alignment, bytes);
  return *to == nullptr ? ENOMEM : 0;
}
}  // extern "C"
#endif

namespace ria {
namespace {

constexpr std::size_t kSmallChange = 64 << 10;  // bytes of a picture that are not its result

/// The third picture of a size, and the fourth.
void expect_no_allocations(const Backbone& backbone, const Pixels& pixels) {
  if (!RIA_COUNTS_ALLOCATIONS) GTEST_SKIP() << "allocations cannot be counted here";
  for (int i = 0; i < 2; ++i) backbone.extract(pixels);
  for (int i = 0; i < 2; ++i) {
    const std::size_t bytes = allocated_bytes, large = large_allocations;
    const PatchFeatures features = backbone.extract(pixels);
    const std::size_t used = allocated_bytes - bytes;
    const std::size_t result =
        (features.patches.size() + features.class_token.size()) * sizeof(float);
    ASSERT_GE(result, kLarge) << "too small to be told from anything else";
    EXPECT_GE(used, result) << "the allocations were not seen";
    EXPECT_LE(used, result + kSmallChange);
    EXPECT_EQ(large_allocations - large, 1u);
    testing::Test::RecordProperty("bytes_beside_the_result", std::to_string(used - result));
  }
}

TEST(NoAllocation, Transformers) {
  for (const auto& [adapter, facet] : {std::pair{0, Facet::kValue}, {32, Facet::kToken}}) {
    const RandomNetwork network(adapter, false, true);
    for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
      SCOPED_TRACE(testing::Message()
                   << "adapter " << adapter << ", precision " << static_cast<int>(precision));
      BackboneOptions options;
      options.precision = precision;
      options.facet = facet;
      options.layer = 1;
      expect_no_allocations(*make_vit({"dinov2", network.file(), ""}, options), picture(47, 45));
    }
  }
}

Convolution convolution(int out, int in, int kernel) {
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(0, 0.2f);
  Convolution result;
  result.out = out;
  result.in = in;
  result.kernel = kernel;
  result.pad = kernel / 2;
  result.weight.resize(static_cast<std::size_t>(out) * in * kernel * kernel);
  for (float& value : result.weight) value = normal(engine);
  result.bias.assign(out, 0.1f);
  return result;
}

/// Convolutions of several kinds, a pool and a residual.
ConvPlan small_network() {
  ConvPlan plan;
  const auto add = [&](Convolution layer, int residual) {
    ConvStep step;
    step.input = static_cast<int>(plan.steps.size());
    step.residual = residual;
    step.relu = true;
    step.convolution = std::move(layer);
    plan.steps.push_back(std::move(step));
  };
  add(convolution(32, 3, 7), -1);
  ConvStep pool;
  pool.kind = ConvStep::Kind::kMaxPool;
  pool.input = 1;
  pool.kernel = 3;
  pool.stride = 2;
  pool.pad = 1;
  plan.steps.push_back(pool);
  add(convolution(16, 32, 1), -1);
  add(convolution(32, 16, 3), 2);
  add(convolution(64, 32, 3), -1);
  plan.output = static_cast<int>(plan.steps.size());
  return plan;
}

TEST(NoAllocation, ConvolutionalNetworks) {
  const TensorFile nothing("none", WeightFormat::safetensors, {});
  for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
    SCOPED_TRACE(static_cast<int>(precision));
    BackboneOptions options;
    options.precision = precision;
    const auto backbone = make_conv_backbone({"resnet", nothing, ""}, small_network(), options);
    expect_no_allocations(*backbone, picture(12, 14));
  }
}

}  // namespace
}  // namespace ria
