// SPDX-License-Identifier: MIT
// The same weights and the same input through ria, ONNX Runtime and LibTorch. Machines are noisy:
// the programs take turns, each reports the best of its rounds, and the best turn counts. A ratio is
// the peer's time over ria's: how many times faster ria is.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { positionTable } from './position_table.mjs';
import { normal, randomTransformer, transformers } from './random_networks.mjs';
import { readFloats, readSafetensors, writeFloats, writeSafetensors } from './tensors.mjs';

const { values: given } = parseArgs({
  options: {
    folder: { type: 'string' },     // holds onnxruntime-node and libtorch_peer; weights and inputs are put there
    ria: { type: 'string' },        // the program ria_bench
    resnet50: { type: 'string' },   // weights; without them that network is left out
    networks: { type: 'string', default: 'vits14_224,vits14_518,vitb14_224,vitb14_322,vitb14_518,megaloc_322,megaloc_518,resnet50_224,resnet50' },
    rounds: { type: 'string', default: '5' },
    turns: { type: 'string', default: '2' },
    all_forms: { type: 'boolean', default: false },  // try every way to write a network for ONNX Runtime
    json: { type: 'string' },
  },
});

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const sizes = { resnet50: [272, 480] };  // a name without a size
const floatForms = ['', 'attention=multihead,gelu=op,fold=1'];
const moreForms = ['fold=1', 'gelu=op', 'attention=multihead', 'attention=packed', 'attention=packed,gelu=op,fold=1',
  'attention=opset23,gelu=op,fold=1'];
const int8Forms = ['gelu=op,fold=1,bits=8', 'attention=multihead,gelu=op,fold=1,bits=8'];
const convolutionInt8Forms = ['bits=8'];

/** A file of the folder, made first if it is not there. */
function file(name, make) {
  const whole = path.join(given.folder, name);
  if (!fs.existsSync(whole)) {
    make(`${whole}.part`);
    fs.renameSync(`${whole}.part`, whole);
  }
  return whole;
}

/** The arguments that all programs share. */
function prepare(name) {
  const [network, side] = name.split('_');
  const [height, width] = sizes[name] ?? [Number(side), Number(side)];
  const input = file(`input_${height}x${width}.f32`, to => writeFloats(to, normal(3 * height * width, 0, 1, height)));
  const common = ['--network', network, '--input', input, '--height', `${height}`, '--width', `${width}`,
    '--rounds', given.rounds];
  if (network === 'resnet50') return { common: [...common, '--weights', given.resnet50], positions: [] };
  const shape = transformers[network];
  const weights = file(`${network}.safetensors`, to => writeSafetensors(to, randomTransformer(shape)));
  const [rows, columns] = [height / shape.patch, width / shape.patch];
  const positions = file(`${network}_positions_${rows}x${columns}.f32`, to =>
    writeFloats(to, positionTable(readSafetensors(weights).tensors.pos_embed, rows, columns)));
  return { common: [...common, '--weights', weights], positions: ['--pos_embed', positions] };
}

/** Programs in turn: {name: {ms, output}}; one that fails says why and is left out. */
function takeTurns(programs) {
  const results = {};
  const failed = new Set();
  for (let turn = 0; turn < Number(given.turns); ++turn) {
    for (const [name, [program, ...args]] of Object.entries(programs)) {
      if (failed.has(name)) continue;
      const output = path.join(given.folder, `output_${name.replace(/\W/g, '_')}.f32`);
      try {
        const env = { ...process.env, RIA_PEERS: given.folder };
        const text = execFileSync(program, [...args, '--output', output], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
        const { ms } = JSON.parse(text.trim().split('\n').pop());
        results[name] = { ms: Math.min(ms, results[name]?.ms ?? Infinity), output };
      } catch (error) {
        failed.add(name);
        console.log(`${name} left out: ${(error.stderr || error.message).trim().split('\n').pop()}`);
      }
    }
  }
  return results;
}

/** Largest difference of two outputs, absolute and as a share of the largest value. */
function difference(a, b) {
  if (!a || !b) return {};
  const [left, right] = [readFloats(a.output), readFloats(b.output)];
  if (left.length !== right.length) throw new Error(`${a.output} and ${b.output} differ in size`);
  let [largest, apart] = [0, 0];
  for (let i = 0; i < left.length; ++i) {
    largest = Math.max(largest, Math.abs(right[i]));
    const d = Math.abs(left[i] - right[i]);
    if (!(d <= apart)) apart = d;  // also if it is not a number
  }
  return { difference: apart, relative_difference: apart / largest };
}

const fastest = (results, prefix) => Object.entries(results).filter(([name]) => name.startsWith(prefix))
  .map(([name, result]) => ({ name, ...result })).sort((a, b) => a.ms - b.ms)[0];

function programsFor(name, knowsNetworks) {
  const { common, positions } = prepare(name);
  const script = path.join(here, 'onnxruntime.mjs');
  const transformer = !name.startsWith('resnet');
  const programs = {};
  const ria = precision => [given.ria, ...common, '--precision', precision];
  const onnx = form => [process.execPath, script, ...common, ...positions, '--variant', form];
  if (knowsNetworks) programs['ria fp32'] = ria('fp32');
  const forms = transformer ? [...floatForms, ...(given.all_forms ? moreForms : [])] : [''];
  for (const form of forms) programs[`onnxruntime fp32 ${form || 'as exported'}`] = onnx(form);
  if (name.startsWith('megaloc')) return programs;  // in float32, without LibTorch
  programs.libtorch = [path.join(given.folder, 'build', 'libtorch_peer'), ...common, ...positions];
  if (knowsNetworks) programs['ria int8'] = ria('int8');
  for (const form of transformer ? int8Forms : convolutionInt8Forms) programs[`onnxruntime int8 ${form}`] = onnx(form);
  return programs;
}

const number = (value, digits) => (value === undefined || Number.isNaN(value) ? '-' : value.toPrecision(digits));

function row(label, figures) {
  const { ria, onnxruntime, libtorch } = figures;
  const over = peer => (ria && peer ? number(peer / ria, 3) : '-');
  const columns = [number(ria, 4), number(onnxruntime, 4), number(libtorch, 4), over(onnxruntime), over(libtorch),
    number(figures.difference, 2), number(figures.relative_difference, 2), number(figures.peers_relative_difference, 2)];
  console.log(label.padEnd(18) + columns.map(column => column.padStart(15)).join(''));
}

function summary(results, precision) {
  const ria = results[`ria ${precision}`];
  const onnxruntime = fastest(results, `onnxruntime ${precision}`);
  const libtorch = precision === 'fp32' ? results.libtorch : undefined;
  return {
    ria: ria?.ms, onnxruntime: onnxruntime?.ms, onnxruntime_form: onnxruntime?.name, libtorch: libtorch?.ms,
    ...difference(ria, results['onnxruntime fp32 as exported']),
    peers_relative_difference: difference(onnxruntime, results.libtorch).relative_difference,
  };
}

const knowsNetworks = given.ria && execFileSync(given.ria, ['--help'], { encoding: 'utf8' }).includes('--network');
if (!knowsNetworks) console.log('ria left out: this ria_bench has no --network');
const report = { load_before: os.loadavg()[0], networks: {} };
console.log('milliseconds (best form of each), times ria is faster, largest difference of ria to ONNX Runtime fp32 as exported,');
console.log('that as a share of the largest value, and the share by which ONNX Runtime and LibTorch differ');
console.log(['network'.padEnd(18), ...['ria', 'ORT', 'LibTorch', 'over ORT', 'over LibTorch', 'difference', 'share', 'peers']
  .map(title => title.padStart(15))].join(''));
for (const name of given.networks.split(',')) {
  if (name.startsWith('resnet50') && !given.resnet50) continue;
  const results = takeTurns(programsFor(name, knowsNetworks));
  for (const precision of ['fp32', 'int8']) {
    if (!fastest(results, `onnxruntime ${precision}`)) continue;
    const label = precision === 'int8' ? `${name}_int8` : name;
    const figures = summary(results, precision);
    row(label, figures);
    for (const peer of ['onnxruntime', 'libtorch']) {
      const same = precision === 'int8' ? `${peer}_int8` : peer;
      if (figures.ria && figures[peer]) report[`${label}_over_${same}`] = figures[peer] / figures.ria;
    }
    const float = fastest(results, 'onnxruntime fp32')?.ms;
    if (precision === 'int8' && figures.ria && float) report[`${label}_over_onnxruntime_fp32`] = float / figures.ria;
    report.networks[label] = figures;
  }
  report.networks[name].all_ms = Object.fromEntries(Object.entries(results).map(([key, { ms }]) => [key, ms]));
}
report.load_after = os.loadavg()[0];
if (given.json) fs.writeFileSync(given.json, `${JSON.stringify(report, null, 2)}\n`);
