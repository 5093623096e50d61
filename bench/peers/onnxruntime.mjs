// SPDX-License-Identifier: MIT
// One network in ONNX Runtime: prints {"ms": best of the rounds, "output": file} as JSON.
// onnxruntime-node is looked for in the folder that RIA_PEERS names.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { transformerModel } from './onnx_networks.mjs';
import { resnetModel } from './onnx_resnet.mjs';
import { readFloats, readSafetensors, writeFloats } from './tensors.mjs';

const { values: given } = parseArgs({
  options: {
    network: { type: 'string' },    // vits14, vitb14, ... or resnet50
    weights: { type: 'string' },    // safetensors
    input: { type: 'string' },      // float32 [3, height, width]
    height: { type: 'string' },
    width: { type: 'string' },
    pos_embed: { type: 'string' },  // float32 table for this size, if the one in the weights is for another
    stage: { type: 'string', default: '4' },  // the last stage of a ResNet: 4 is layer3
    variant: { type: 'string', default: '' },  // see onnx_networks.mjs, for example attention=multihead,fold=1
    session: { type: 'string', default: '' },  // session options, for example intra_op.allow_spinning=0
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: String(os.cpus().length) },
    output: { type: 'string' },
    profile: { type: 'string' },    // prefix of a profile to write
    optimized: { type: 'string' },  // where to keep the model as ONNX Runtime rewrote it
  },
});

const pairs = text => Object.fromEntries(text.split(',').filter(Boolean).map(pair => pair.split('=')));

/** {a.b: v} as {a: {b: v}}: the form of onnxruntime-node's extra options. */
function nested(options) {
  const root = {};
  for (const [key, value] of Object.entries(options)) {
    const names = key.split('.');
    const last = names.pop();
    names.reduce((node, name) => (node[name] ??= {}), root)[last] = value;
  }
  return root;
}

/** The range of every tensor of a ResNet on the input itself: scales that suit it best. */
async function measuredRanges(weights, feeds) {
  const { bytes, labels } = resnetModel(weights, height, width, Number(given.stage), { labelled: true });
  const session = await InferenceSession.create(bytes);
  const tensors = { ...feeds, ...await session.run(feeds) };
  const range = ({ data }) => data.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [0, 0]);
  return Object.fromEntries(Object.entries(labels).map(([label, name]) => [label, range(tensors[name])]));
}

async function makeModel(feeds) {
  const weights = readSafetensors(given.weights);
  const variant = pairs(given.variant);
  if (given.network.startsWith('resnet')) {
    const ranges = variant.bits === '8' ? await measuredRanges(weights, feeds) : undefined;
    return resnetModel(weights, height, width, Number(given.stage), { ranges }).bytes;
  }
  if (given.pos_embed) {
    const data = readFloats(given.pos_embed);
    const columns = weights.tensors.cls_token.shape[2];
    weights.tensors.pos_embed = { shape: [1, data.length / columns, columns], data };
  }
  return transformerModel(weights.tensors, height, width, variant);
}

/** One row of channels for each place, as tokens are anyway: [1, channels, h, w] is transposed. */
function placeMajor({ dims, data }) {
  if (dims.length < 4) return data;
  const channels = dims[1];
  const places = dims[2] * dims[3];
  return data.map((_, i) => data[(i % channels) * places + Math.floor(i / channels)]);
}

const require = createRequire(path.resolve(process.env.RIA_PEERS ?? '.', 'peers.js'));
const { InferenceSession, Tensor } = require('onnxruntime-node');
const [height, width] = [Number(given.height), Number(given.width)];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ria_peers_'));
try {
  const file = path.join(folder, 'model.onnx');
  const input = new Tensor('float32', readFloats(given.input), [1, 3, height, width]);
  fs.writeFileSync(file, await makeModel({ input }));
  const session = await InferenceSession.create(file, {
    executionProviders: ['cpu'],
    intraOpNumThreads: Number(given.threads),
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    extra: { session: nested(pairs(given.session)) },
    ...(given.profile && { enableProfiling: true, profileFilePrefix: given.profile }),
    ...(given.optimized && { optimizedModelFilePath: given.optimized }),
  });
  let { output } = await session.run({ input });  // warm-up
  const times = [];
  for (let round = 0; round < Number(given.rounds); ++round) {
    const start = performance.now();
    ({ output } = await session.run({ input }));
    times.push(performance.now() - start);
  }
  if (given.profile) session.endProfiling();
  if (given.output) writeFloats(given.output, placeMajor(output));
  console.log(JSON.stringify({ ms: Math.min(...times), output: given.output, shape: output.dims }));
} finally {
  fs.rmSync(folder, { recursive: true });
}
