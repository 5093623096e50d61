// SPDX-License-Identifier: MIT
// ResNet50 with torchvision's names as an ONNX model, in float32 as it is exported, or in 8 bits as ONNX
// Runtime's own tools leave it: scales of activations fixed beforehand, a scale for each output of a
// convolution, and ReLUs that are no more than the lower end of an unsigned number.
import { Graph } from './onnx_writer.mjs';

/** Layers in float32, batch norms as nodes: ONNX Runtime folds them. Every tensor is known by a label. */
class FloatLayers {
  constructor(graph, { tensors, metadata }) {
    Object.assign(this, { graph, tensors, epsilon: Number(metadata.bn_eps ?? 1e-5), labels: {} });
  }
  labelled(label, name) {
    this.labels[label] = name;
    return name;
  }
  input(name) {
    return this.labelled('input', name);
  }
  convolution(x, name, norm, stride, relu) {
    const { graph, tensors, epsilon } = this;
    const { shape, data } = tensors[`${name}.weight`];
    x = graph.node('Conv', [x, graph.constant(data, shape, `${name}.weight`)], window(shape[2], stride));
    const parts = ['weight', 'bias', 'running_mean', 'running_var'].map(part => {
      const tensor = tensors[`${norm}.${part}`];
      return graph.constant(tensor.data, tensor.shape, `${norm}.${part}`);
    });
    x = graph.node('BatchNormalization', [x, ...parts], { epsilon });
    return this.labelled(name, relu ? graph.node('Relu', [x]) : x);
  }
  addRelu(x, y, label) {
    return this.labelled(label, this.graph.node('Relu', [this.graph.node('Add', [x, y])]));
  }
  pool(x) {
    return this.graph.node('MaxPool', [x], window(3, 2));
  }
  output(x) {
    return this.graph.node('Identity', [x], {}, { name: 'output' });
  }
}

/** The same in 8 bits. A tensor is {name, scale, zero}; `ranges` are [smallest, largest] by label. */
class IntegerLayers {
  constructor(graph, { tensors, metadata }, ranges) {
    Object.assign(this, { graph, tensors, epsilon: Number(metadata.bn_eps ?? 1e-5), ranges });
  }
  scaleOf(label) {
    const [low, high] = [Math.min(this.ranges[label][0], 0), Math.max(this.ranges[label][1], 0)];
    const scale = (high - low) / 255 || 1;
    return { scale, zero: Math.round(-low / scale) };
  }
  /** The operands by which nodes are told a tensor's scale. */
  operands({ scale, zero }) {
    return [this.graph.scalar(scale), this.graph.constant(Uint8Array.of(zero), [])];
  }
  input(name) {
    const to = this.scaleOf('input');
    return { ...to, name: this.graph.node('QuantizeLinear', [name, ...this.operands(to)]) };
  }
  /** 7 bits: without VNNI the kernels add pairs in 16 bits. */
  weights(name, norm, inputScale) {
    const { shape, data } = this.tensors[`${name}.weight`];
    const part = key => this.tensors[`${norm}.${key}`].data;
    const [outputs, each] = [shape[0], data.length / shape[0]];
    const values = new Int8Array(data.length);
    const scales = new Float32Array(outputs);
    const bias = new Int32Array(outputs);
    for (let o = 0; o < outputs; ++o) {
      const factor = part('weight')[o] / Math.sqrt(part('running_var')[o] + this.epsilon);
      const row = data.subarray(o * each, (o + 1) * each);
      scales[o] = row.reduce((most, value) => Math.max(most, Math.abs(value * factor)), 0) / 63 || 1;
      row.forEach((value, i) => { values[o * each + i] = Math.round((value * factor) / scales[o]); });
      bias[o] = Math.round((part('bias')[o] - part('running_mean')[o] * factor) / (inputScale * scales[o]));
    }
    const { graph } = this;
    return {
      operands: [graph.constant(values, shape), graph.constant(scales, [outputs]),
        graph.constant(new Int8Array(outputs), [outputs])],
      bias: graph.constant(bias, [outputs]), size: shape[2],
    };
  }
  convolution(x, name, norm, stride) {
    const to = this.scaleOf(name);
    const { operands, bias, size } = this.weights(name, norm, x.scale);
    const inputs = [x.name, ...this.operands(x), ...operands, ...this.operands(to), bias];
    return { ...to, name: this.graph.node('QLinearConv', inputs, window(size, stride)) };
  }
  addRelu(x, y, label) {
    const to = this.scaleOf(label);
    const inputs = [x.name, ...this.operands(x), y.name, ...this.operands(y), ...this.operands(to)];
    return { ...to, name: this.graph.node('QLinearAdd', inputs, {}, { domain: 'com.microsoft' }) };
  }
  pool(x) {
    return { ...x, name: this.graph.node('MaxPool', [x.name], window(3, 2)) };
  }
  output(x) {
    return this.graph.node('DequantizeLinear', [x.name, ...this.operands(x)], {}, { name: 'output' });
  }
}

function window(size, stride) {
  const pad = (size - 1) / 2;
  return { kernel_shape: [size, size], strides: [stride, stride], pads: [pad, pad, pad, pad] };
}

function bottleneck(layers, x, name, stride, { tensors, metadata }) {
  const strides = metadata.stride === 'first' ? [stride, 1] : [1, stride];
  let y = layers.convolution(x, `${name}.conv1`, `${name}.bn1`, strides[0], true);
  y = layers.convolution(y, `${name}.conv2`, `${name}.bn2`, strides[1], true);
  y = layers.convolution(y, `${name}.conv3`, `${name}.bn3`, 1, false);
  if (`${name}.downsample.0.weight` in tensors) {
    x = layers.convolution(x, `${name}.downsample.0`, `${name}.downsample.1`, stride, false);
  }
  return layers.addRelu(y, x, name);
}

/** Up to a stage (4: layer3), in 8 bits if `ranges` are given: the bytes, and the tensors' names by label. */
export function resnetModel(weights, height, width, stage, { ranges, labelled = false } = {}) {
  const graph = new Graph();
  const layers = ranges ? new IntegerLayers(graph, weights, ranges) : new FloatLayers(graph, weights);
  let x = layers.input(graph.input('input', [1, 3, height, width]));
  x = layers.pool(layers.convolution(x, 'conv1', 'bn1', 2, true));
  for (let l = 1; l < stage; ++l) {
    for (let b = 0; `layer${l}.${b}.conv1.weight` in weights.tensors; ++b) {
      x = bottleneck(layers, x, `layer${l}.${b}`, b === 0 && l > 1 ? 2 : 1, weights);
    }
  }
  const down = size => Math.ceil(size / 2 ** stage);
  graph.output(layers.output(x), [1, 64 * 2 ** stage, down(height), down(width)]);
  const { input, ...inner } = layers.labels ?? {};
  if (labelled) for (const name of Object.values(inner)) graph.output(name);
  return { bytes: graph.model(17), labels: layers.labels };
}
