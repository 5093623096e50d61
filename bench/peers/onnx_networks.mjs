// SPDX-License-Identifier: MIT
// The networks as ONNX models. Without options they are what torch.onnx.export makes of the official
// code; the options are rewrites by hand that can be faster in ONNX Runtime:
//   attention  export | multihead (MultiHeadAttention) | packed (Attention) | opset23 (ai.onnx Attention)
//   gelu       erf (five nodes, as exported) | op (one node)
//   fold       1: LayerScale multiplied into the weights before it
//   bits       8: linear layers with int8 weights and activations quantized as they come
// Convolutional networks are in onnx_resnet.mjs.
import { Graph } from './onnx_writer.mjs';
import { megaLocHead } from './onnx_megaloc.mjs';

const microsoft = { domain: 'com.microsoft' };

function transposed({ shape: [rows, columns], data }) {
  const result = new Float32Array(data.length);
  for (let r = 0; r < rows; ++r) for (let c = 0; c < columns; ++c) result[c * rows + r] = data[r * columns + c];
  return result;
}

/** Columns of [inputs, outputs] weights as integers. 7 bits: without VNNI the kernels add pairs in 16 bits. */
function quantized(weights, inputs, outputs) {
  const values = new Int8Array(weights.length);
  const scales = new Float32Array(outputs);
  for (let i = 0; i < weights.length; ++i) {
    scales[i % outputs] = Math.max(scales[i % outputs], Math.abs(weights[i]) / 63);
  }
  for (let i = 0; i < weights.length; ++i) values[i] = Math.round(weights[i] / scales[i % outputs]);
  return { values, scales };
}

class Transformer {
  constructor(tensors, options) {
    this.tensors = tensors;
    this.options = { attention: 'export', gelu: 'erf', fold: '0', bits: '32', ...options };
    this.graph = new Graph();
    this.width = tensors['cls_token'].shape[2];
    this.heads = this.width / 64;
  }
  constant(name, shape = this.tensors[name].shape) {
    return this.graph.constant(this.tensors[name].data, shape, name);
  }
  norm(x, name) {
    const inputs = [x, this.constant(`${name}.weight`), this.constant(`${name}.bias`)];
    return this.graph.node('LayerNormalization', inputs, { axis: -1n, epsilon: 1e-6 });
  }
  /** Weights as [inputs, outputs] and bias, scaled by `gamma` if one is given. */
  weights(name, gamma) {
    const [outputs, inputs] = this.tensors[`${name}.weight`].shape;
    const weight = transposed(this.tensors[`${name}.weight`]);
    const bias = this.tensors[`${name}.bias`].data.slice();
    if (gamma) {
      for (let i = 0; i < weight.length; ++i) weight[i] *= gamma[i % outputs];
      for (let i = 0; i < outputs; ++i) bias[i] *= gamma[i];
    }
    return { weight, bias, inputs, outputs };
  }
  linear(x, name, gamma) {
    const { graph } = this;
    const { weight, bias, inputs, outputs } = this.weights(name, gamma);
    const biasName = graph.constant(bias, [outputs]);
    if (this.options.bits === '8') {
      const { values, scales } = quantized(weight, inputs, outputs);
      const operands = [x, graph.constant(values, [inputs, outputs]), graph.constant(scales, [outputs]), '', biasName];
      return graph.node('DynamicQuantizeMatMul', operands, {}, microsoft);
    }
    return graph.node('Add', [graph.node('MatMul', [x, graph.constant(weight, [inputs, outputs])]), biasName]);
  }
  /** A linear layer and its LayerScale. */
  scaled(x, name, scaleName) {
    if (this.options.fold === '1') return this.linear(x, name, this.tensors[scaleName].data);
    return this.graph.node('Mul', [this.linear(x, name), this.constant(scaleName)]);
  }
  attention(x, name) {
    const { graph, heads, width } = this;
    if (this.options.attention === 'packed') {
      const { weight, bias } = this.weights(name);
      const inputs = [x, graph.constant(weight, [width, 3 * width]), graph.constant(bias, [3 * width])];
      return graph.node('Attention', inputs, { num_heads: BigInt(heads) }, microsoft);
    }
    const qkv = this.linear(x, name);
    if (this.options.attention === 'export') return this.exportedAttention(qkv);
    const third = graph.integers(width, width, width);
    const parts = graph.node('Split', [qkv, third], { axis: -1n }, { outputs: 3 });
    if (this.options.attention === 'multihead') {
      return graph.node('MultiHeadAttention', parts, { num_heads: BigInt(heads) }, microsoft);
    }
    return graph.node('Attention', parts, { q_num_heads: BigInt(heads), kv_num_heads: BigInt(heads) });
  }
  exportedAttention(qkv) {
    const { graph, heads, width } = this;
    const split = graph.node('Reshape', [qkv, graph.integers(1, -1, 3, heads, 64)]);
    const order = graph.node('Transpose', [split], { perm: [2, 0, 3, 1, 4] });
    const pick = i => graph.node('Gather', [order, graph.constant(BigInt64Array.of(BigInt(i)), [])], { axis: 0n });
    const q = graph.node('Mul', [pick(0), graph.scalar(0.125)]);
    const k = graph.node('Transpose', [pick(1)], { perm: [0, 1, 3, 2] });
    const weights = graph.node('Softmax', [graph.node('MatMul', [q, k])], { axis: -1n });
    const mixed = graph.node('Transpose', [graph.node('MatMul', [weights, pick(2)])], { perm: [0, 2, 1, 3] });
    return graph.node('Reshape', [mixed, graph.integers(1, -1, width)]);
  }
  gelu(x) {
    const { graph } = this;
    if (this.options.gelu === 'op') return graph.node('Gelu', [x], {}, microsoft);
    const erf = graph.node('Erf', [graph.node('Div', [x, graph.scalar(Math.SQRT2)])]);
    const product = graph.node('Mul', [x, graph.node('Add', [erf, graph.scalar(1)])]);
    return graph.node('Mul', [product, graph.scalar(0.5)]);
  }
  block(x, name) {
    const { graph } = this;
    const mixed = this.attention(this.norm(x, `${name}.norm1`), `${name}.attn.qkv`);
    x = graph.node('Add', [x, this.scaled(mixed, `${name}.attn.proj`, `${name}.ls1.gamma`)]);
    const hidden = this.gelu(this.linear(this.norm(x, `${name}.norm2`), `${name}.mlp.fc1`));
    return graph.node('Add', [x, this.scaled(hidden, `${name}.mlp.fc2`, `${name}.ls2.gamma`)]);
  }
  model(height, width) {
    const { graph } = this;
    const patch = this.tensors['patch_embed.proj.weight'].shape[2];
    const patches = (height / patch) * (width / patch);
    const picture = graph.input('input', [1, 3, height, width]);
    const proj = ['patch_embed.proj.weight', 'patch_embed.proj.bias'].map(name => this.constant(name));
    const grid = graph.node('Conv', [picture, ...proj], { kernel_shape: [patch, patch], strides: [patch, patch] });
    const rows = graph.node('Reshape', [grid, graph.integers(1, this.width, patches)]);
    const tokens = graph.node('Transpose', [rows], { perm: [0, 2, 1] });
    let x = graph.node('Concat', [this.constant('cls_token'), tokens], { axis: 1n });
    x = graph.node('Add', [x, this.constant('pos_embed')]);
    for (let i = 0; `blocks.${i}.norm1.weight` in this.tensors; ++i) x = this.block(x, `blocks.${i}`);
    x = this.norm(x, 'norm');
    const head = 'aggregator.linear.weight' in this.tensors;
    const shape = head ? [1, this.tensors['aggregator.linear.bias'].shape[0]] : [1, patches + 1, this.width];
    if (head) x = megaLocHead(graph, this.tensors, x, patches);
    graph.output(graph.node('Identity', [x], {}, { name: 'output' }), shape);
    return graph.model(this.options.attention === 'opset23' ? 23 : 17);
  }
}

/** A vision transformer with DINOv2's names: all tokens after the last block and the final norm, or MegaLoc's descriptor. */
export function transformerModel(tensors, height, width, options) {
  return new Transformer(tensors, options).model(height, width);
}
