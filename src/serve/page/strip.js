// SPDX-License-Identifier: MIT
// Above the strip of frames: a bar for each, as high as the probability of a loop, and an arc from
// each loop to the frame it closes with.
import { draw } from './dom.js';

const pitch = 64;   // pixels from frame to frame, as the style has it
const high = 152;   // pixels of the drawing
const base = 142;   // where the bars stand
const tall = 84;    // a bar of probability 1

const middle = (number) => number * pitch + pitch / 2 - 2;

function arc(from, to, current) {
  const [a, b] = [middle(Math.min(from, to)), middle(Math.max(from, to))];
  const top = base - tall - Math.min(48, 12 + (b - a) / 16);
  return draw('path', { class: `arc${current ? ' current' : ''}`, d: `M${a} ${base - tall}C${a} ${top} ${b} ${top} ${b} ${base - tall}` });
}

/** Frames as {probability, loop, with: number of the frame}; `current` is shown. */
export function drawStrip(svg, frames, current, decision = 0.75) {
  const width = Math.max(frames.length * pitch, pitch);
  svg.setAttribute('viewBox', `0 0 ${width} ${high}`);
  svg.setAttribute('width', width);
  const bars = frames.map(({ probability, loop }, i) => {
    const height = Math.max(2, tall * Math.min(Math.max(probability, 0), 1));
    return draw('rect', { class: loop ? 'bar-loop' : 'bar-none', x: middle(i) - (i === current ? 12 : 9), y: base - height, width: i === current ? 24 : 18, height, rx: 3 });
  });
  const arcs = frames.flatMap((frame, i) => (frame.loop && frame.with !== undefined ? [arc(frame.with, i, i === current)] : []));
  const line = base - tall * decision;
  svg.replaceChildren(draw('path', { class: 'decision', d: `M0 ${line}H${width}` }), ...bars, ...arcs);
}
