// SPDX-License-Identifier: MIT
// The patches that agree, drawn as lines between a picture and that of a place: side by side, or one
// above the other where there is little room.
import { draw } from './dom.js';

const gap = 24;          // pixels between the pictures
const narrow = 560;      // below this they stand one above the other
const colors = 6;        // classes hue0..hue5 of the style

/** How large a picture is: {href, width, height}; href null: there is none to show, only its shape. */
export async function measured(href) {
  if (!href) return { href: null, width: 4, height: 3 };
  const image = new Image();
  image.src = href;
  try { await image.decode(); } catch { return { href: null, width: 4, height: 3 }; }
  return { href, width: image.naturalWidth, height: image.naturalHeight };
}

function layout(width, left, right) {
  if (width < narrow) {
    const boxes = [left, right].map((picture) => ({ x: 0, width, height: (width * picture.height) / picture.width }));
    return { boxes: [{ ...boxes[0], y: 0 }, { ...boxes[1], y: boxes[0].height + gap }], height: boxes[0].height + gap + boxes[1].height };
  }
  // As high as each other.
  const ratios = [left, right].map((picture) => picture.width / picture.height);
  const height = (width - gap) / (ratios[0] + ratios[1]);
  return { boxes: [{ x: 0, y: 0, width: height * ratios[0], height }, { x: height * ratios[0] + gap, y: 0, width: height * ratios[1], height }], height };
}

function picture(box, { href }, name, number) {
  const frame = { x: box.x, y: box.y, width: box.width, height: box.height };
  const clip = `patch-clip-${number}`;
  if (!href) {
    return draw('g', {}, draw('rect', { ...frame, rx: 8, class: 'no-picture' }),
      draw('text', { x: box.x + box.width / 2, y: box.y + box.height / 2, class: 'no-picture-text' }, 'no picture kept'));
  }
  return draw('g', {}, draw('clipPath', { id: clip }, draw('rect', { ...frame, rx: 8 })),
    draw('image', { ...frame, href, 'clip-path': `url(#${clip})`, preserveAspectRatio: 'none' }, draw('title', {}, name)));
}

export class Patches {
  constructor(svg) {
    this.svg = svg;
    this.pairs = [];
    new ResizeObserver(() => this.paint()).observe(svg.parentElement);
  }

  /** Two measured pictures and the pairs {qx, qy, px, py, weight}, all in 0..1 of their pictures. */
  show(query, place, pairs) {
    this.query = query;
    this.place = place;
    this.pairs = [...pairs].sort((a, b) => b.weight - a.weight);
    this.paint();
  }

  clear() {
    this.query = undefined;
    this.svg.replaceChildren();
  }

  /** At most so many lines, the heaviest. */
  limit(most) {
    this.most = most;
    this.paint();
  }

  paint() {
    const width = Math.floor(this.svg.parentElement.clientWidth);
    if (!this.query || width === 0) return;
    const { boxes: [left, right], height } = layout(width, this.query, this.place);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const stacked = right.y > 0;
    const heaviest = this.pairs[0]?.weight || 1;
    const lines = this.pairs.slice(0, this.most ?? this.pairs.length).map((pair) => {
      const a = { x: left.x + pair.qx * left.width, y: left.y + pair.qy * left.height };
      const b = { x: right.x + pair.px * right.width, y: right.y + pair.py * right.height };
      // A colour for each band of the query, across the lines, tells crossing ones from parallel ones.
      const hue = Math.min(colors - 1, Math.floor((stacked ? pair.qx : pair.qy) * colors));
      return draw('g', { class: `pair hue${hue}`, opacity: (0.35 + 0.65 * (pair.weight / heaviest)).toFixed(2) },
        draw('path', { class: 'halo', d: `M${a.x} ${a.y}L${b.x} ${b.y}` }), draw('path', { class: 'link', d: `M${a.x} ${a.y}L${b.x} ${b.y}` }),
        draw('circle', { cx: a.x, cy: a.y, r: 3.5 }), draw('circle', { cx: b.x, cy: b.y, r: 3.5 }));
    }).reverse();
    this.svg.replaceChildren(picture(left, this.query, 'your picture', 0), picture(right, this.place, 'the place', 1), ...lines);
  }
}
