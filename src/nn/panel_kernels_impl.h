// SPDX-License-Identifier: MIT
// Included by one source file for each kind of CPU, which says how wide its vectors are (RIA_WIDTH
// floats) and how many outputs a tile has (RIA_ROWS). Everything here has internal linkage and no
// inline function of the standard library is used: code compiled for a newer CPU must not be picked
// by the linker for all.
#include <cstdint>

#include "nn/panel_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ria {
namespace {

constexpr int kWidth = RIA_WIDTH;
constexpr int kVectors = 3;  // of a panel row: with kRows they fill the registers
constexpr int kLanes = kWidth * kVectors;
constexpr int kRows = RIA_ROWS;
constexpr int kKeyPanels =
    5;  // key panels whose scores are held at once: they stay in the L1 cache

typedef float Vf __attribute__((vector_size(4 * RIA_WIDTH)));
typedef std::int32_t Vi __attribute__((vector_size(4 * RIA_WIDTH)));

inline Vf load(const float* p) { return *reinterpret_cast<const Vf*>(p); }
inline void store(float* p, Vf v) { *reinterpret_cast<Vf*>(p) = v; }
inline Vi load(const std::int32_t* p) { return *reinterpret_cast<const Vi*>(p); }
inline void store(std::int32_t* p, Vi v) { *reinterpret_cast<Vi*>(p) = v; }
inline Vf splat(float x) { return x - Vf{}; }
inline Vf max(Vf a, Vf b) { return a > b ? a : b; }
inline Vf min(Vf a, Vf b) { return a < b ? a : b; }
inline Vf absolute(Vf a) { return reinterpret_cast<Vf>(reinterpret_cast<Vi>(a) & 0x7fffffff); }

/// Nearest integer of |x| < 2^22, as a float with the integer in its low bits.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
inline Vi nearest(Vf x) {
  return reinterpret_cast<Vi>(x + kMagic) - static_cast<std::int32_t>(0x4b400000);
}

/// 2^x, relative error 1e-7; from -126 down it stays at the smallest normal number.
inline Vf exp2(Vf x) {
  x = max(x, splat(-126.0f));
  const Vf whole = (x + kMagic) - kMagic;
  const Vf f = x - whole;
  Vf p = f * 0.001327647129073739f + 0.009675540961325169f;
  p = p * f + 0.05550713092088699f;
  p = p * f + 0.24022120237350464f;
  p = p * f + 0.6931469440460205f;
  p = p * f + 1.0000001192092896f;
  return reinterpret_cast<Vf>(reinterpret_cast<Vi>(p) + (nearest(x) << 23));
}

/// x Phi(x), Phi by a rational function of erf with absolute error 4e-7.
inline Vf gelu(Vf x) {
  const Vf z = min(max(x * 0.70710678118654752f, splat(-3.925f)), splat(3.925f));
  const Vf u = z * z;
  Vf p = u * 2.046052031801082e-06f + 0.0002848187286872417f;
  p = p * u + 0.003771789837628603f;
  p = p * u + 0.052766889333724976f;
  p = p * u + 0.1905771642923355f;
  p = p * u + 1.1283791065216064f;
  Vf q = u * 3.804672815022059e-05f + 0.0011636597337201238f;
  q = q * u + 0.014981667511165142f;
  q = q * u + 0.11417567729949951f;
  q = q * u + 0.5022273659706116f;
  q = q * u + 1.0f;
  const Vf half = 0.5f * x;
  return half + half * (z * p / q);
}

inline Vf finished(Vf sum, float* y, float bias, bool accumulate, bool with_gelu) {
  sum += bias;
  if (accumulate) sum += load(y);
  return with_gelu ? gelu(sum) : sum;
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

/// sums[i][v] += sum_k a[i * kRowStep + k * kStep] x[k][v]
template <int kUsed, int kRowStep, int kStep>
inline __attribute__((always_inline)) void multiply_add(const float* a,
                                                        const float* x,
                                                        int k,
                                                        Vf (&sums)[kRows][kUsed]) {
  for (int j = 0; j < k; ++j) {
    Vf row[kUsed];
    for (int v = 0; v < kUsed; ++v) row[v] = load(x + v * kWidth);
    for (int i = 0; i < kRows; ++i) {
      const float w = a[i * kRowStep];
      for (int v = 0; v < kUsed; ++v) sums[i][v] += w * row[v];
    }
    a += kStep;
    x += kLanes;
  }
}

template <int kUsed>
void product_used(const float* weights,
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
    multiply_add<kUsed, 1, kRows>(weights, x, k, sums);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float bias = finish.bias != nullptr ? finish.bias[g * kRows + i] : 0.0f;
#pragma GCC unroll 3
      for (int v = 0; v < kUsed; ++v) {
        float* out = y + i * kLanes + v * kWidth;
        store(out, finished(sums[i][v], out, bias, finish.accumulate, finish.gelu));
      }
    }
    weights += stride;
    y += kRows * kLanes;
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
  switch (vectors_of(tokens)) {
    case 1:
      return product_used<1>(weights, stride, groups, x, k, y, finish);
    case 2:
      return product_used<2>(weights, stride, groups, x, k, y, finish);
    default:
      return product_used<3>(weights, stride, groups, x, k, y, finish);
  }
}

void normalize(const float* x, int channels, float eps, float* y) {
  const float share = 1.0f / static_cast<float>(channels);
  for (int v = 0; v < kLanes; v += kWidth) {
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
      multiply_add<kVectors, kLanes, 1>(value, weights + k * kLanes, count, sums);
    }
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v) store(out + i * kLanes + v * kWidth, sums[i][v]);
    }
    out += kRows * kLanes;
  }
}

inline int smaller(int a, int b) { return a < b ? a : b; }

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
        Vf sums[kRows][kVectors];
        zero(sums);
        multiply_add<kVectors, 1, kLanes>(key, query, task.head, sums);
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

// Integers. Products of unsigned weights with signed activations; AVX2 adds them up in 16 bits,
// which limits the levels of both so that no sum of `kDepth` products can overflow.

#if defined(__AVX512VNNI__)
constexpr int kDepth = 4, kWeightLevels = 127, kActivationLevels = 127;
#elif defined(__AVX2__)
constexpr int kDepth = 12, kWeightLevels = 42, kActivationLevels = 64;
static_assert(kDepth / 2 * 2 * kWeightLevels * kActivationLevels < 32768);
#else
constexpr int kDepth = 4, kWeightLevels = 127, kActivationLevels = 127;
#endif
constexpr int kKeyLevels = 63, kQueryLevels = 64;  // four products in 16 bits
static_assert(4 * (2 * kKeyLevels + 1) * kQueryLevels < 32768);
constexpr int kKeyOffset = kKeyLevels + 1;
constexpr int kValueLevels = 2047, kSoftmaxLevels = 4095;
static_assert(static_cast<std::int64_t>(kKeyPanels) * kLanes * kValueLevels * kSoftmaxLevels <
              (1LL << 31));

inline Vi splat_bytes(const void* p) {
  std::int32_t four;
  __builtin_memcpy(&four, p, 4);
  return four - Vi{};
}
/// Makes the compiler read through p again instead of keeping in registers what it read before: the
/// tile needs them all.
inline void reload(const std::int32_t*& p) { asm volatile("" : "+r"(p)); }
inline const std::int32_t* words(const void* p) { return static_cast<const std::int32_t*>(p); }

/// sum + the products of kDwords dwords of unsigned bytes `u` (`step` bytes apart) and signed
/// bytes.
template <int kDwords>
inline __attribute__((always_inline)) Vi dot_bytes(Vi sum,
                                                   const Vi (&u)[kDwords],
                                                   const std::int32_t* s) {
#if defined(__AVX512VNNI__)
  for (int d = 0; d < kDwords; ++d) {
    sum =
        reinterpret_cast<Vi>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                 reinterpret_cast<__m512i>(u[d]),
                                                 reinterpret_cast<__m512i>(load(s + d * kLanes))));
  }
  return sum;
#elif defined(__AVX2__) && RIA_WIDTH == 8
  const auto at = [&](int d) {
    return _mm256_maddubs_epi16(reinterpret_cast<__m256i>(u[d]),
                                reinterpret_cast<__m256i>(load(s + d * kLanes)));
  };
  __m256i pairs = at(0);
  for (int d = 1; d < kDwords; ++d) pairs = _mm256_add_epi16(pairs, at(d));
  return sum + reinterpret_cast<Vi>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#else
  for (int d = 0; d < kDwords; ++d) {
    const Vi bytes = load(s + d * kLanes);
    for (int b = 0; b < 4; ++b) sum += ((u[d] >> (8 * b)) & 255) * ((bytes << (24 - 8 * b)) >> 24);
  }
  return sum;
#endif
}

inline Vi dot_shorts(Vi sum, Vi a, Vi b) {
#if defined(__AVX512VNNI__)
  return reinterpret_cast<Vi>(_mm512_dpwssd_epi32(
      reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__) && RIA_WIDTH == 8
  return sum + reinterpret_cast<Vi>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

inline Vf to_float(Vi x) { return __builtin_convertvector(x, Vf); }
inline bool any(Vi mask) {
  std::int32_t all = 0;
  for (int i = 0; i < kWidth; ++i) all |= mask[i];
  return all != 0;
}

int find_outliers(const float* x, int channels, float limit, int* list, int room) {
  Vf bound[kVectors];
  bool found = false;
  for (int v = 0; v < kVectors; ++v) {
    Vf squares[2] = {}, largest = {};
    for (int c = 0; c < channels; ++c) {
      const Vf square = load(x + c * kLanes + v * kWidth) * load(x + c * kLanes + v * kWidth);
      squares[c & 1] += square;
      largest = max(largest, square);
    }
    bound[v] = (squares[0] + squares[1]) * (limit * limit / static_cast<float>(channels));
    found = found || any(largest > bound[v]);
  }
  int count = 0;
  for (int c = 0; found && c < channels; ++c) {
    Vi beyond = {};
    for (int v = 0; v < kVectors; ++v) {
      const Vf value = load(x + c * kLanes + v * kWidth);
      beyond |= value * value > bound[v];
    }
    if (!any(beyond)) continue;
    if (count < room) list[count] = c;
    ++count;
  }
  return count;
}

void quantize(const float* x, int channels, std::int8_t* q, const LaneScales& scales) {
  const int padded = (channels + kDepth - 1) / kDepth * kDepth;
  for (int v = 0; v < kLanes; v += kWidth) {
    Vf low = {}, high = {};  // zero is always inside and exact
    for (int c = 0; c < channels; ++c) {
      const Vf value = load(x + c * kLanes + v);
      low = min(low, value);
      high = max(high, value);
    }
    const Vf scale = max((high - low) * (1.0f / (2 * kActivationLevels - 1)), splat(1e-30f));
    const Vf inverse = 1.0f / scale;
    const Vi zero = -kActivationLevels - nearest(low * inverse);
    Vi sum = {};
    for (int c = 0; c < padded; c += 4) {
      Vi bytes = {};
      for (int b = 0; b < 4 && c + b < channels; ++b) {
        Vi value = nearest(load(x + (c + b) * kLanes + v) * inverse) + zero;
        value = value < -kActivationLevels ? Vi{} - kActivationLevels : value;
        value = value > kActivationLevels - 1 ? Vi{} + (kActivationLevels - 1) : value;
        sum += value;
        bytes |= (value & 255) << (8 * b);
      }
      store(reinterpret_cast<std::int32_t*>(q) + c / 4 * kLanes + v, bytes);
    }
    store(scales.scale + v, scale);
    store(scales.zero + v, zero);
    store(scales.sum + v, sum);
  }
}

template <int kUsed>
void product_int8_used(const std::uint8_t* weights,
                       std::int64_t stride,
                       int groups,
                       const std::int8_t* x,
                       int k,
                       std::int32_t* sums) {
  constexpr int kDwords = kDepth / 4;
  for (int g = 0; g < groups; ++g) {
    Vi tile[kRows][kUsed];
    zero(tile);
    const std::uint8_t* w = weights;
    const std::int32_t* s = words(x);
    for (int j = 0; j < k; j += kDepth) {
      for (int i = 0; i < kRows; ++i) {
        Vi u[kDwords];
        for (int d = 0; d < kDwords; ++d) u[d] = splat_bytes(w + (d * kRows + i) * 4);
        for (int v = 0; v < kUsed; ++v)
          tile[i][v] = dot_bytes<kDwords>(tile[i][v], u, s + v * kWidth);
      }
      w += kDepth * kRows;
      s += kDwords * kLanes;
    }
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kUsed; ++v) store(sums + i * kLanes + v * kWidth, tile[i][v]);
    }
    weights += stride;
    sums += kRows * kLanes;
  }
}

void product_int8(const std::uint8_t* weights,
                  std::int64_t stride,
                  int groups,
                  const std::int8_t* x,
                  int k,
                  int tokens,
                  std::int32_t* sums) {
  switch (vectors_of(tokens)) {
    case 1:
      return product_int8_used<1>(weights, stride, groups, x, k, sums);
    case 2:
      return product_int8_used<2>(weights, stride, groups, x, k, sums);
    default:
      return product_int8_used<3>(weights, stride, groups, x, k, sums);
  }
}

void dequantize(const std::int32_t* sums,
                int rows,
                const float* weight_scale,
                const std::int32_t* weight_sum,
                const LaneScales& scales,
                float* y,
                const Finish& finish) {
  for (int v = 0; v < kLanes; v += kWidth) {
    const Vf scale = load(scales.scale + v);
    const Vi zero = load(scales.zero + v), offset = load(scales.sum + v) * kWeightLevels;
    for (int r = 0; r < rows; ++r) {
      const Vi exact = load(sums + r * kLanes + v) - offset - zero * weight_sum[r];
      float* out = y + r * kLanes + v;
      const float bias = finish.bias != nullptr ? finish.bias[r] : 0.0f;
      store(out,
            finished(to_float(exact) * (scale * weight_scale[r]),
                     out,
                     bias,
                     finish.accumulate,
                     finish.gelu));
    }
  }
}

/// Largest magnitude of each lane of one vector of a panel.
inline Vf largest_of(const float* x, int channels) {
  Vf largest = splat(1e-30f);
  for (int c = 0; c < channels; ++c) largest = max(largest, absolute(load(x + c * kLanes)));
  return largest;
}

/// Four channels as bytes, [channels / 4][lane][4], offset; returns the sum without the offset.
inline Vi quantize_bytes(const float* x, int channels, Vf inverse, int offset, std::int32_t* q) {
  Vi sum = {};
  for (int c = 0; c < channels; c += 4) {
    Vi bytes = {};
    for (int b = 0; b < 4; ++b) {
      const Vi value = nearest(load(x + (c + b) * kLanes) * inverse);
      sum += value;
      bytes |= ((value + offset) & 255) << (8 * b);
    }
    store(q + c / 4 * kLanes, bytes);
  }
  return sum;
}

void quantize_keys(const float* key, int head, std::uint8_t* q, float* scale) {
  for (int v = 0; v < kLanes; v += kWidth) {
    const Vf largest = largest_of(key + v, head);
    quantize_bytes(
        key + v, head, kKeyLevels / largest, kKeyOffset, reinterpret_cast<std::int32_t*>(q) + v);
    store(scale + v, largest * (1.0f / kKeyLevels));
  }
}

void quantize_values(const float* value, int head, std::int16_t* q, float* scale) {
  for (int v = 0; v < kLanes; v += kWidth) {
    const Vf largest = largest_of(value + v, head);
    const Vf inverse = kValueLevels / largest;
    for (int c = 0; c < head; ++c) {
      const Vi rounded = nearest(load(value + c * kLanes + v) * inverse);
      for (int i = 0; i < kWidth; ++i)
        q[c * kLanes + v + i] = static_cast<std::int16_t>(rounded[i]);
    }
    store(scale + v, largest * (1.0f / kValueLevels));
  }
}

/// A panel of queries in integers.
struct IntegerQuery {
  const std::int32_t* bytes;  // [head / 4][lane]
  Vf scale[kVectors];
  Vi offset[kVectors];  // what the keys' offset adds to every sum
};

/// Scores of a tile of keys; keeps the largest of each lane.
inline void score_int8(const std::uint8_t* key,
                       const float* key_scale,
                       int keys,
                       const IntegerQuery& query,
                       int head,
                       float* scores,
                       Vf (&largest)[kVectors]) {
  Vi sums[kRows][kVectors];
  zero(sums);
  const std::int32_t* bytes = query.bytes;
  for (int c = 0; c < head; c += 8) {
    for (int i = 0; i < kRows; ++i) {
      const Vi u[2] = {splat_bytes(key + i * 4), splat_bytes(key + (kLanes + i) * 4)};
      for (int v = 0; v < kVectors; ++v)
        sums[i][v] = dot_bytes<2>(sums[i][v], u, bytes + v * kWidth);
    }
    key += 8 * kLanes;
    bytes += 2 * kLanes;
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int i = 0; i < (keys < kRows ? keys : kRows); ++i) {
      const Vf score = to_float(sums[i][v] - query.offset[v]) * (query.scale[v] * key_scale[i]);
      store(scores + i * kLanes + v * kWidth, score);
      largest[v] = max(largest[v], score);
    }
  }
}

/// 2^x to 12 bits, which is all that is kept of it.
inline Vf exp2_short(Vf x) {
  x = max(x, splat(-126.0f));
  const Vf f = x - ((x + kMagic) - kMagic);
  Vf p = f * 0.0551716685295105f + 0.2426111251115799f;
  p = p * f + 0.6932609677314758f;
  p = p * f + 0.9999280571937561f;
  return reinterpret_cast<Vf>(reinterpret_cast<Vi>(p) + (nearest(x) << 23));
}

/// Softmax weights times the values' scales as pairs of shorts, [key / 2][lane][2], in place.
inline void weigh_int8(
    float* scores, int keys, const float* value_scale, float unit, Softmax& state) {
  std::int32_t* pairs = reinterpret_cast<std::int32_t*>(scores);
  for (int v = 0; v < kVectors; ++v) {
    const Vf largest = state.largest[v];
    Vf sum[2] = {state.sum[v], Vf{}};
    const float* at = scores + v * kWidth;
    std::int32_t* to = pairs + v * kWidth;
    for (int k = 0; k < keys; k += 2) {
      const Vf even = exp2_short(load(at) - largest), odd = exp2_short(load(at + kLanes) - largest);
      sum[0] += even;
      sum[1] += odd;
      store(to,
            nearest(even * (value_scale[k] * unit)) |
                (nearest(odd * (value_scale[k + 1] * unit)) << 16));
      at += 2 * kLanes;
      to += kLanes;
    }
    state.sum[v] = sum[0] + sum[1];
  }
}

/// out = out * shrink + weights * values of a few key panels
inline void add_values_int8(const std::int16_t* values,
                            const std::int32_t* weights,
                            int keys,
                            int channels,
                            float unit,
                            const Vf (&shrink)[kVectors],
                            float* out) {
  for (int c = 0; c < channels; c += kRows) {
    Vi sums[kRows][kVectors];
    zero(sums);
    const std::int32_t* pairs = weights;
    for (int first = 0; first < keys; first += kLanes) {
      const std::int16_t* value = values + first * channels + c * kLanes;
      const int count = smaller(keys - first, kLanes);
      for (int k = 0; k < count; k += 2) {
        // Two of the three vectors stay in registers: with the tile and a temporary they are full.
        const Vi first_two[2] = {load(pairs), load(pairs + kWidth)};
        for (int i = 0; i < kRows; ++i) {
          const Vi pair = splat_bytes(value + i * kLanes + k);
          for (int v = 0; v < 2; ++v) sums[i][v] = dot_shorts(sums[i][v], pair, first_two[v]);
          reload(pairs);
          sums[i][2] = dot_shorts(sums[i][2], pair, load(pairs + 2 * kWidth));
        }
        pairs += kLanes;
      }
    }
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        float* at = out + (c + i) * kLanes + v * kWidth;
        store(at, load(at) * shrink[v] + to_float(sums[i][v]) * unit);
      }
    }
  }
}

inline float largest_scale(const float* scale, int count) {
  float largest = 1e-30f;
  for (int i = 0; i < count; ++i) largest = scale[i] > largest ? scale[i] : largest;
  return largest;
}

/// Scores of a block of keys, [key][lane]; says how much what was summed before shrinks.
inline void score_block(const IntegerAttentionTask& task,
                        const IntegerQuery& query,
                        int first,
                        int keys,
                        Softmax& state,
                        Vf (&shrink)[kVectors]) {
  Vf largest[kVectors];
  for (int v = 0; v < kVectors; ++v) largest[v] = state.largest[v];
  for (int k = 0; k < keys; k += kRows) {
    const int panel = (first + k) / kLanes;
    score_int8(task.key + panel * kLanes * task.head + (first + k) % kLanes * 4,
               task.key_scale + first + k,
               keys - k,
               query,
               task.head,
               task.scratch + k * kLanes,
               largest);
  }
  if (keys % 2 != 0) {  // weights come in pairs
    for (int v = 0; v < kLanes; v += kWidth) {
      store(task.scratch + keys * kLanes + v, splat(-3e38f));
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    shrink[v] = exp2(state.largest[v] - largest[v]);
    state.sum[v] *= shrink[v];
    state.largest[v] = largest[v];
  }
}

inline IntegerQuery quantize_query(const float* query, int head, std::int32_t* bytes) {
  IntegerQuery result;
  result.bytes = bytes;
  for (int v = 0; v < kVectors; ++v) {
    const float* at = query + v * kWidth;
    const Vf largest = largest_of(at, head);
    result.scale[v] = largest * (1.0f / kQueryLevels);
    result.offset[v] =
        kKeyOffset * quantize_bytes(at, head, kQueryLevels / largest, 0, bytes + v * kWidth);
  }
  return result;
}

void attention_int8(const IntegerAttentionTask& task) {
  constexpr int kBlock = kKeyPanels * kLanes;
  const int head = task.head;
  std::int32_t* bytes = reinterpret_cast<std::int32_t*>(task.scratch + kBlock * kLanes);
  Softmax states[kMostQueryPanels];
  IntegerQuery queries[kMostQueryPanels];
  for (int q = 0; q < task.queries; ++q) {
    states[q] = start_softmax();
    queries[q] =
        quantize_query(task.query + q * task.query_stride, head, bytes + q * (head / 4) * kLanes);
    clear(task.out + q * task.out_stride, head);
  }
  for (int first = 0; first < task.keys; first += kBlock) {
    const int keys = smaller(task.keys - first, kBlock);
    const float* value_scale = task.value_scale + first;
    const float unit = kSoftmaxLevels / largest_scale(value_scale, keys);
    for (int q = 0; q < task.queries; ++q) {
      Vf shrink[kVectors];
      score_block(task, queries[q], first, keys, states[q], shrink);
      weigh_int8(task.scratch, keys, value_scale, unit, states[q]);
      add_values_int8(task.value + static_cast<std::int64_t>(first) * head,
                      words(task.scratch),
                      keys,
                      head,
                      1.0f / unit,
                      shrink,
                      task.out + q * task.out_stride);
    }
  }
  for (int q = 0; q < task.queries; ++q) {
    divide_by_sum(states[q], head, task.out + q * task.out_stride);
  }
}

// bfloat16: the upper half of a float32, two in a word.

#if defined(__AVX512F__)
#define RIA_BF16_TARGET __attribute__((target("avx512bf16")))
#else
#define RIA_BF16_TARGET
#endif

void round_bf16(const float* x, int channels, std::uint32_t* pairs) {
  typedef std::uint32_t Vu __attribute__((vector_size(4 * RIA_WIDTH)));
  // To nearest, ties to even.
  const auto rounded = [](Vu bits) { return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16; };
  for (int c = 0; c < channels; c += 2) {
    for (int v = 0; v < kLanes; v += kWidth) {
      const Vu low = rounded(reinterpret_cast<Vu>(load(x + c * kLanes + v)));
      const Vu high =
          c + 1 < channels ? rounded(reinterpret_cast<Vu>(load(x + (c + 1) * kLanes + v))) : Vu{};
      *reinterpret_cast<Vu*>(pairs + c / 2 * kLanes + v) = low | (high << 16);
    }
  }
}

RIA_BF16_TARGET inline Vf dot_bf16(Vf sum, Vi a, Vi b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vf>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
#else
  constexpr std::int32_t kUpper = static_cast<std::int32_t>(0xffff0000u);
  sum += reinterpret_cast<Vf>(a << 16) * reinterpret_cast<Vf>(b << 16);
  return sum + reinterpret_cast<Vf>(a & kUpper) * reinterpret_cast<Vf>(b & kUpper);
#endif
}

RIA_BF16_TARGET void product_bf16(const std::uint32_t* weights,
                                  std::int64_t stride,
                                  int groups,
                                  const std::uint32_t* x,
                                  int k,
                                  int tokens,
                                  float* y,
                                  const Finish& finish) {
  const int used = vectors_of(tokens);
  for (int g = 0; g < groups; ++g) {
    for (int v = 0; v < used; ++v) {
      Vf sums[kRows] = {};
      for (int j = 0; j < k; ++j) {
        const Vi row = load(words(x + j * kLanes + v * kWidth));
        for (int i = 0; i < kRows; ++i) {
          sums[i] = dot_bf16(sums[i], splat_bytes(weights + j * kRows + i), row);
        }
      }
      for (int i = 0; i < kRows; ++i) {
        const float bias = finish.bias != nullptr ? finish.bias[g * kRows + i] : 0.0f;
        float* out = y + i * kLanes + v * kWidth;
        store(out, finished(sums[i], out, bias, finish.accumulate, finish.gelu));
      }
    }
    weights += stride;
    y += kRows * kLanes;
  }
}

constexpr PanelKernels make_kernels(const char* name) {
  return {name,
          kLanes,
          kRows,
          kDepth,
          kWeightLevels,
          kKeyPanels * kLanes * kLanes,
          product,
          normalize,
          gate,
          attention,
          round_bf16,
          product_bf16,
          find_outliers,
          quantize,
          product_int8,
          dequantize,
          quantize_keys,
          quantize_values,
          attention_int8};
}

}  // namespace
}  // namespace ria
