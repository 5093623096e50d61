// SPDX-License-Identifier: MIT
// MegaLoc's head as ONNX nodes: SALAD's optimal transport, then a linear layer. What the official code repeats and
// multiplies element by element (patches times clusters) is a matrix product here, which is faster in ONNX Runtime.

/** The name of the descriptor [1, dim] of tokens [1, 1 + patches, width]. */
export function megaLocHead(graph, tensors, tokens, patches) {
  const constant = (name, shape = tensors[name].shape) => graph.constant(tensors[name].data, shape, name);
  const slice = (x, from, to, axis) =>
    graph.node('Slice', [x, graph.integers(from), graph.integers(to), graph.integers(axis)]);
  const unit = (x, axis) => graph.node('LpNormalization', [x], { axis: BigInt(axis), p: 2n });
  const linear = (x, name) => graph.node('Gemm', [x, constant(`${name}.weight`), constant(`${name}.bias`)], { transB: 1n });
  const width = tensors['cls_token'].shape[2];
  const grid = graph.node('Reshape', [
    graph.node('Transpose', [slice(tokens, 1, patches + 1, 1)], { perm: [0, 2, 1] }),
    graph.integers(1, width, patches, 1)]);
  const convolutions = name => {
    const layer = (x, i) => graph.node('Conv', [x, constant(`aggregator.agg.${name}.${i}.weight`),
      constant(`aggregator.agg.${name}.${i}.bias`)], { kernel_shape: [1, 1] });
    const channels = tensors[`aggregator.agg.${name}.3.bias`].shape[0];
    const last = layer(graph.node('Relu', [layer(grid, 0)]), 3);
    return { channels, rows: graph.node('Reshape', [last, graph.integers(1, channels, patches)]) };
  };
  const local = convolutions('cluster_features');
  const score = convolutions('score');
  const clusters = score.channels;

  // Each cluster takes as much as a patch gives, the dustbin what is left.
  const share = -Math.log(patches + clusters);
  const take = new Float32Array(clusters + 1).fill(share);
  take[clusters] += Math.log(patches - clusters);
  const dust = graph.constant(new Float32Array(patches).fill(tensors['aggregator.agg.dust_bin'].data[0]), [1, 1, patches]);
  const takes = graph.constant(take, [1, clusters + 1, 1]);
  let plan = graph.node('Concat', [score.rows, dust], { axis: 1n });
  const shifted = (target, axis) =>
    graph.node('Add', [plan, graph.node('Sub', [target, graph.node('ReduceLogSumExp', [plan], { axes: [axis], keepdims: 1n })])]);
  for (let i = 0; i < 3; ++i) {
    plan = shifted(takes, 2);
    plan = shifted(graph.scalar(share), 1);
  }
  plan = graph.node('Exp', [graph.node('Sub', [slice(plan, 0, clusters, 1), graph.scalar(share)])]);

  const collected = graph.node('MatMul', [local.rows, graph.node('Transpose', [plan], { perm: [0, 2, 1] })]);
  const flat = graph.node('Reshape', [unit(collected, 1), graph.integers(1, local.channels * clusters)]);
  const token = graph.node('Reshape', [slice(tokens, 0, 1, 1), graph.integers(1, width)]);
  const hidden = graph.node('Relu', [linear(token, 'aggregator.agg.token_features.0')]);
  const first = unit(linear(hidden, 'aggregator.agg.token_features.2'), 1);
  const salad = unit(graph.node('Concat', [first, flat], { axis: 1n }), 1);
  return unit(linear(salad, 'aggregator.linear'), 1);
}
