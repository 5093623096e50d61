// SPDX-License-Identifier: MIT
// Attention from 8-bit keys and 12-bit values; see panel_kernels_impl.h.
#pragma once

#include "kernel/panel_int8.h"

namespace ria {
namespace {

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

}  // namespace
}  // namespace ria
