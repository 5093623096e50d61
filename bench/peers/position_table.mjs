// SPDX-License-Identifier: MIT
// DINOv2's position table for another picture size, as its own code makes it: bicubic (A = -0.75),
// borders repeated, with 0.1 added to the wanted size before the scale is computed.

/** The four cubic weights of the neighbours -1, 0, 1, 2 of a place `t` of [0, 1). */
function cubic(t) {
  const a = -0.75;
  const near = x => ((a + 2) * x - (a + 3)) * x * x + 1;
  const far = x => ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return [far(t + 1), near(t), near(1 - t), far(2 - t)];
}

/** For each wanted place along one side: the four sources and their weights. */
function taps(from, to) {
  return Array.from({ length: to }, (_, i) => {
    const source = ((i + 0.5) * from) / (to + 0.1) - 0.5;
    const first = Math.floor(source);
    const clamp = k => Math.min(Math.max(k, 0), from - 1);
    return cubic(source - first).map((weight, k) => [clamp(first - 1 + k), weight]);
  });
}

/** [1 + rows * columns, width] from a table [1, 1 + grid * grid, width]; the first row is the class token's. */
export function positionTable({ shape: [, count, width], data }, rows, columns) {
  const grid = Math.round(Math.sqrt(count - 1));
  if (rows === grid && columns === grid) return data;
  const table = new Float32Array((1 + rows * columns) * width);
  table.set(data.subarray(0, width));
  const across = taps(grid, columns);
  taps(grid, rows).forEach((down, r) => across.forEach((right, c) => {
    const out = (1 + r * columns + c) * width;
    for (let d = 0; d < width; ++d) {
      let sum = 0;
      for (const [y, wy] of down) for (const [x, wx] of right) sum += wy * wx * data[(1 + y * grid + x) * width + d];
      table[out + d] = sum;
    }
  }));
  return table;
}
