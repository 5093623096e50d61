// SPDX-License-Identifier: MIT
// Random vision transformers with the names of DINOv2's hub weights, and random inputs. The time a
// network takes does not depend on what its weights are as long as no value overflows, vanishes or
// is denormal; all values here are of the size that trained ones have.

export const transformers = {
  vits14: { depth: 12, width: 384, heads: 6, patch: 14, grid: 37 },
  vitb14: { depth: 12, width: 768, heads: 12, patch: 14, grid: 37 },
  vitl14: { depth: 24, width: 1024, heads: 16, patch: 14, grid: 37 },
  megaloc: { depth: 12, width: 768, heads: 12, patch: 14, grid: 37, head: { hidden: 512, local: 256, clusters: 64, dim: 8448 } },
};

/** Uniform numbers of [0, 1): mulberry32. */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Normal numbers (Box-Muller). */
export function normal(count, mean, deviation, seed) {
  const uniform = generator(seed);
  const values = new Float32Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform())) * deviation;
    const angle = 2 * Math.PI * uniform();
    values[i] = mean + radius * Math.cos(angle);
    if (i + 1 < count) values[i + 1] = mean + radius * Math.sin(angle);
  }
  return values;
}

/** So many numbers as a pool of normal ones, over and over: a large layer in little time. */
function repeated(count, deviation, seed) {
  const pool = normal(1 << 20, 0, deviation, seed);
  const values = new Float32Array(count);
  for (let i = 0; i < count; i += pool.length) values.set(pool.subarray(0, Math.min(pool.length, count - i)), i);
  return values;
}

/** MegaLoc's head under its published names: SALAD and a linear layer. */
function addMegaLoc(tensors, width, { hidden, local, clusters, dim }) {
  let seed = 1001;
  const addLinear = (name, out, inputs, size = [1, 1]) => {
    const data = repeated(out * inputs, 1 / Math.sqrt(inputs), seed++);
    tensors[`aggregator.${name}.weight`] = { shape: [out, inputs, ...size], data };
    tensors[`aggregator.${name}.bias`] = { shape: [out], data: normal(out, 0, 0.1, seed++) };
  };
  for (const [name, out] of [['cluster_features', local], ['score', clusters]]) {
    addLinear(`agg.${name}.0`, hidden, width);
    addLinear(`agg.${name}.3`, out, hidden);
  }
  addLinear('agg.token_features.0', hidden, width, []);
  addLinear('agg.token_features.2', local, hidden, []);
  tensors['aggregator.agg.dust_bin'] = { shape: [], data: Float32Array.of(1) };
  addLinear('linear', dim, local * (clusters + 1), []);
}

export function randomTransformer({ depth, width, patch, grid, head }) {
  const tensors = {};
  let seed = 1;
  const add = (name, shape, deviation, mean = 0) => {
    const count = shape.reduce((a, b) => a * b, 1);
    tensors[name] = { shape, data: normal(count, mean, deviation, seed++) };
  };
  const addLinear = (name, out, inputs) => {
    add(`${name}.weight`, [out, inputs], 1 / Math.sqrt(inputs));
    add(`${name}.bias`, [out], 0.1);
  };
  const addNorm = name => {
    add(`${name}.weight`, [width], 0.1, 1);
    add(`${name}.bias`, [width], 0.1);
  };
  add('cls_token', [1, 1, width], 0.5);
  add('pos_embed', [1, 1 + grid * grid, width], 0.5);
  add('patch_embed.proj.weight', [width, 3, patch, patch], 1 / Math.sqrt(3 * patch * patch));
  add('patch_embed.proj.bias', [width], 0.1);
  for (let i = 0; i < depth; ++i) {
    addNorm(`blocks.${i}.norm1`);
    addLinear(`blocks.${i}.attn.qkv`, 3 * width, width);
    addLinear(`blocks.${i}.attn.proj`, width, width);
    add(`blocks.${i}.ls1.gamma`, [width], 0.1, 0.5);
    addNorm(`blocks.${i}.norm2`);
    addLinear(`blocks.${i}.mlp.fc1`, 4 * width, width);
    addLinear(`blocks.${i}.mlp.fc2`, width, 4 * width);
    add(`blocks.${i}.ls2.gamma`, [width], 0.1, 0.5);
  }
  addNorm('norm');
  if (head) addMegaLoc(tensors, width, head);
  return tensors;
}
