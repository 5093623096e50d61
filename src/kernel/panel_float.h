// SPDX-License-Identifier: MIT
// Float32 kernels; see panel_kernels_impl.h.
#pragma once

#include "kernel/panel_vector.h"

namespace ria {
namespace {

inline Vf finished(Vf sum, float* y, float bias, bool accumulate, Activation activation) {
  sum += bias;
  if (accumulate) sum += load(y);
  if (activation == Activation::kRelu) return max(sum, Vf{});
  return activation == Activation::kGelu ? gelu(sum) : sum;
}

/// Vector by vector: an initialiser would clear memory instead of registers.
template <typename V, int kUsed>
inline __attribute__((always_inline)) void zero(V (&tile)[kRows][kUsed]) {
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int v = 0; v < kUsed; ++v) tile[i][v] = V{};
  }
}

/// Floats of a cache line, and how far ahead of their use weights are asked for: they come from
/// memory in their order, but the CPU's own prefetching stops at the end of every page.
constexpr int kLine = 16, kAhead = 512;

/// sums[i][v] += sum_k a[i * row_step + k * step] x[k][v]; kStream: a is read line by line.
template <int kUsed, bool kStream = false>
inline __attribute__((always_inline)) void multiply_add(const float* a,
                                                        std::int64_t row_step,
                                                        std::int64_t step,
                                                        const float* x,
                                                        int k,
                                                        Vf (&sums)[kRows][kUsed]) {
  for (int j = 0; j < k; ++j) {
    if (kStream && j % (kLine / kRows) == 0) __builtin_prefetch(a + kAhead);
    Vf row[kUsed];
    for (int v = 0; v < kUsed; ++v) row[v] = load(x + v * kWidth);
    for (int i = 0; i < kRows; ++i) {
      const float w = a[i * row_step];
      for (int v = 0; v < kUsed; ++v) sums[i][v] += w * row[v];
    }
    a += step;
    x += kLanes;
  }
}

template <int kUsed, bool kStream>
inline __attribute__((always_inline)) void product_used(const float* weights,
                                                        std::int64_t row_step,
                                                        std::int64_t step,
                                                        std::int64_t stride,
                                                        int groups,
                                                        const float* x,
                                                        int k,
                                                        float* y,
                                                        const Finish& finish) {
  for (int g = 0; g < groups; ++g) {
    for (int line = 0; line < kRows * kLanes; line += 16) __builtin_prefetch(y + line, 1);
    Vf sums[kRows][kUsed];
    zero(sums);
    multiply_add<kUsed, kStream>(weights, row_step, step, x, k, sums);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float bias = finish.bias != nullptr ? finish.bias[g * kRows + i] : 0.0f;
#pragma GCC unroll 3
      for (int v = 0; v < kUsed; ++v) {
        float* out = y + i * kLanes + v * kWidth;
        store(out, finished(sums[i][v], out, bias, finish.accumulate, finish.activation));
      }
    }
    weights += stride;
    y += kRows * kLanes;
  }
}

/// A vector of outputs.
typedef float Vr __attribute__((vector_size(4 * RIA_ROWS), aligned(4)));

/// Tokens that would leave most of a vector of lanes empty.
constexpr int kFewTokens = RIA_WIDTH / 4;

/// A few tokens by some groups: outputs are lanes while the sums are made, each in the same order
/// as elsewhere. What is behind the tokens in their vector is written too, as if it were zero.
template <int kTokens, int kGroups>
inline __attribute__((always_inline)) void product_few(const float* weights,
                                                       std::int64_t stride,
                                                       const float* x,
                                                       int k,
                                                       float* y,
                                                       const float* bias,
                                                       const Finish& finish) {
  Vr sums[kGroups][kTokens];
  for (int g = 0; g < kGroups; ++g) {
    for (int t = 0; t < kTokens; ++t) sums[g][t] = Vr{};
  }
  for (int j = 0; j < k; ++j) {
    for (int g = 0; g < kGroups; ++g) {
      const Vr w = *reinterpret_cast<const Vr*>(weights + g * stride + j * kRows);
      for (int t = 0; t < kTokens; ++t) sums[g][t] += w * x[j * kLanes + t];
    }
  }
  for (int i = 0; i < kGroups * kRows; ++i) {
    Vf row{};
    for (int t = 0; t < kTokens; ++t) row[t] = sums[i / kRows][t][i % kRows];
    float* out = y + i * kLanes;
    const float b = bias != nullptr ? bias[i] : 0.0f;
    store(out, finished(row, out, b, finish.accumulate, finish.activation));
  }
}

template <int kTokens>
void product_of_few(const float* weights,
                    std::int64_t stride,
                    int groups,
                    const float* x,
                    int k,
                    float* y,
                    const Finish& finish) {
  constexpr int kTogether = 4;
  int g = 0;
  const auto bias = [&] { return finish.bias != nullptr ? finish.bias + g * kRows : nullptr; };
  const auto out = [&] { return y + static_cast<std::int64_t>(g) * kRows * kLanes; };
  for (; g + kTogether <= groups; g += kTogether) {
    product_few<kTokens, kTogether>(weights + g * stride, stride, x, k, out(), bias(), finish);
  }
  for (; g < groups; ++g) {
    product_few<kTokens, 1>(weights + g * stride, stride, x, k, out(), bias(), finish);
  }
}

inline int vectors_of(int tokens) { return (tokens + kWidth - 1) / kWidth; }

void product(const float* weights,
             std::int64_t stride,
             int groups,
             const float* x,
             int k,
             int tokens,
             float* y,
             const Finish& finish) {
  const int few = tokens % kWidth, whole = few <= kFewTokens ? tokens / kWidth : vectors_of(tokens);
  if (few > 0 && few <= kFewTokens) {
    const int at = whole * kWidth;
    (few == 1   ? product_of_few<1>
     : few == 2 ? product_of_few<2>
     : few == 3 ? product_of_few<3>
                : product_of_few<4>)(weights, stride, groups, x + at, k, y + at, finish);
  }
  switch (whole) {
    case 0:
      return;
    case 1:
      return product_used<1, true>(weights, 1, kRows, stride, groups, x, k, y, finish);
    case 2:
      return product_used<2, true>(weights, 1, kRows, stride, groups, x, k, y, finish);
    default:
      return product_used<3, true>(weights, 1, kRows, stride, groups, x, k, y, finish);
  }
}

void product_rows(const float* rows,
                  std::int64_t stride,
                  int groups,
                  const float* x,
                  int k,
                  int tokens,
                  float* y,
                  const Finish& finish) {
  switch (vectors_of(tokens)) {
    case 1:
      return product_used<1, false>(rows, stride, 1, kRows * stride, groups, x, k, y, finish);
    case 2:
      return product_used<2, false>(rows, stride, 1, kRows * stride, groups, x, k, y, finish);
    default:
      return product_used<3, false>(rows, stride, 1, kRows * stride, groups, x, k, y, finish);
  }
}

void normalize(const float* x, int channels, float eps, int tokens, float* y) {
  const float share = 1.0f / static_cast<float>(channels);
  for (int v = 0; v < tokens; v += kWidth) {
    Vf mean[4] = {}, variance[4] = {};  // several sums: less rounding, no chain of additions
    for (int c = 0; c < channels; ++c) mean[c & 3] += load(x + c * kLanes + v);
    const Vf m = ((mean[0] + mean[1]) + (mean[2] + mean[3])) * share;
    for (int c = 0; c < channels; ++c) {
      const Vf d = load(x + c * kLanes + v) - m;
      variance[c & 3] += d * d;
    }
    const Vf s = ((variance[0] + variance[1]) + (variance[2] + variance[3])) * share + eps;
    Vf scale;
    for (int i = 0; i < kWidth; ++i) scale[i] = 1.0f / __builtin_sqrtf(s[i]);
    for (int c = 0; c < channels; ++c) {
      store(y + c * kLanes + v, (load(x + c * kLanes + v) - m) * scale);
    }
  }
}

void gate(const float* a, const float* b, int channels, float* y) {
  constexpr float kLog2E = 1.4426950408889634f;
  for (int i = 0; i < channels * kLanes; i += kWidth) {
    const Vf x = load(a + i);
    store(y + i, x / (1.0f + exp2(x * -kLog2E)) * load(b + i));
  }
}

/// The last of a row's vectors is filled up with zeros.
inline Vf load_some(const float* p, std::int64_t count) {
  Vf v{};
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}

inline float softmax_row(float* row, std::int64_t count, float scale) {
  constexpr float kLog2E = 1.4426950408889634f;
  const std::int64_t whole = count / kWidth * kWidth;
  float largest = row[count - 1];
  for (std::int64_t i = whole; i < count; ++i) largest = row[i] > largest ? row[i] : largest;
  Vf lanes = splat(largest);
  for (std::int64_t i = 0; i < whole; i += kWidth) lanes = max(lanes, load_unaligned(row + i));
  for (int i = 0; i < kWidth; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
  Vf sums{};
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const Vf weight = exp2((load_unaligned(row + i) - largest) * (scale * kLog2E));
    store_unaligned(row + i, weight);
    sums += weight;
  }
  const Vf rest = exp2((load_some(row + whole, count - whole) - largest) * (scale * kLog2E));
  float sum = 0;
  for (std::int64_t i = whole; i < count; ++i) sum += row[i] = rest[i - whole];
  for (int i = 0; i < kWidth; ++i) sum += sums[i];
  return sum;
}

/// What a panel of queries has seen of the keys so far.
struct Softmax {
  Vf largest[kVectors];
  Vf sum[kVectors];
};

/// Turns scores into weights relative to the largest score so far; says how much what was summed
/// before shrinks.
inline void weigh(float* scores, int keys, Softmax& state, Vf (&shrink)[kVectors]) {
  for (int v = 0; v < kVectors; ++v) {
    Vf largest = state.largest[v];
    for (int k = 0; k < keys; ++k) largest = max(largest, load(scores + k * kLanes + v * kWidth));
    shrink[v] = exp2(state.largest[v] - largest);
    Vf sum = state.sum[v] * shrink[v];
    for (int k = 0; k < keys; ++k) {
      float* at = scores + k * kLanes + v * kWidth;
      const Vf weight = exp2(load(at) - largest);
      store(at, weight);
      sum += weight;
    }
    state.largest[v] = largest;
    state.sum[v] = sum;
  }
}

inline Softmax start_softmax() {
  Softmax state;
  for (int v = 0; v < kVectors; ++v) {
    state.largest[v] = splat(-3e38f);
    state.sum[v] = Vf{};
  }
  return state;
}

inline void clear(float* out, int channels) {
  for (int i = 0; i < channels * kLanes; i += kWidth) store(out + i, Vf{});
}

inline void divide_by_sum(const Softmax& state, int channels, float* out) {
  for (int v = 0; v < kVectors; ++v) {
    const Vf inverse = 1.0f / state.sum[v];
    for (int c = 0; c < channels; ++c) {
      float* at = out + c * kLanes + v * kWidth;
      store(at, load(at) * inverse);
    }
  }
}

/// out = out * shrink + weights * values of a few key panels
inline void add_values(const float* values,
                       std::int64_t panel_stride,
                       const float* weights,
                       int keys,
                       int channels,
                       const Vf (&shrink)[kVectors],
                       float* out) {
  for (int c = 0; c < channels; c += kRows) {
    Vf sums[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v)
        sums[i][v] = load(out + i * kLanes + v * kWidth) * shrink[v];
    }
    for (int k = 0; k < keys; k += kLanes) {
      const float* value = values + k / kLanes * panel_stride + c * kLanes;
      const int count = keys - k < kLanes ? keys - k : kLanes;
      multiply_add<kVectors>(value, kLanes, 1, weights + k * kLanes, count, sums);
    }
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v) store(out + i * kLanes + v * kWidth, sums[i][v]);
    }
    out += kRows * kLanes;
  }
}

inline int smaller(int a, int b) { return a < b ? a : b; }

/// Asks for some of the head's keys and values of a panel that is needed soon: another core may
/// have written them.
inline void expect(const AttentionTask& task, int token, int part, int parts) {
  if (token >= task.keys) return;
  const std::int64_t at = token / kLanes * task.panel_stride;
  const int size = task.head * kLanes / parts;
  for (int i = part * size; i < (part + 1) * size; i += kLine) {
    __builtin_prefetch(task.key + at + i, 0, 2);
    __builtin_prefetch(task.value + at + i, 0, 2);
  }
}

void attention(const AttentionTask& task) {
  constexpr int kBlock = kKeyPanels * kLanes;
  float* scores = task.scratch;  // [key][lane]
  Softmax states[kMostQueryPanels];
  for (int q = 0; q < task.queries; ++q) {
    states[q] = start_softmax();
    clear(task.out + q * task.out_stride, task.head);
  }
  for (int first = 0; first < task.keys; first += kBlock) {
    const int keys = smaller(task.keys - first, kBlock);
    const std::int64_t offset = first / kLanes * task.panel_stride;
    for (int q = 0; q < task.queries; ++q) {
      const float* query = task.query + q * task.panel_stride;
      for (int k = 0; k < keys; k += kRows) {
        const float* key = task.key + offset + k / kLanes * task.panel_stride + k % kLanes;
        if (q == 0) expect(task, first + kBlock + k, k % kLanes / kRows, kLanes / kRows);
        Vf sums[kRows][kVectors];
        zero(sums);
        multiply_add<kVectors>(key, 1, kLanes, query, task.head, sums);
        for (int i = 0; i < kRows; ++i) {
          for (int v = 0; v < kVectors; ++v) {
            store(scores + (k + i) * kLanes + v * kWidth, sums[i][v]);
          }
        }
      }
      Vf shrink[kVectors];
      weigh(scores, keys, states[q], shrink);
      add_values(task.value + offset,
                 task.panel_stride,
                 scores,
                 keys,
                 task.head,
                 shrink,
                 task.out + q * task.out_stride);
    }
  }
  for (int q = 0; q < task.queries; ++q) {
    divide_by_sum(states[q], task.head, task.out + q * task.out_stride);
  }
}

}  // namespace
}  // namespace ria
