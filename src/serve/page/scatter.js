// SPDX-License-Identifier: MIT
// Places as dots on a plane that is moved and zoomed by mouse, fingers and keys; marks stand over them.
import { distance, draw, hasPosition, make, metres } from './dom.js';

const margin = { top: 24, right: 64, bottom: 52, left: 28 };  // pixels around what is shown whole: buttons and the scale are there
const reach = 18;     // pixels from a dot that still mean it
const closest = 400;  // pixels a metre, at most

/** Length of a scale bar: 1, 2 or 5 times a power of ten, at most `longest` metres. */
function barLength(longest) {
  const power = 10 ** Math.floor(Math.log10(longest));
  return [5, 2, 1].find((factor) => factor * power <= longest) * power;
}

export class Scatter {
  /** Draws into `host`; `label` is what a screen reader calls it, `onpick(place)` follows a click or Enter. */
  constructor(host, { label, onpick }) {
    this.onpick = onpick;
    this.label = label;
    this.shown = [];
    this.marks = [];
    this.lines = [];
    this.origin = { x: 0, y: 0 };
    this.center = { x: 0, y: 0 };
    this.zoom = 1;              // pixels a metre
    this.size = { width: 0, height: 0 };
    this.fingers = new Map();
    this.build(host);
  }

  build(host) {
    this.dots = draw('path', { class: 'dots', 'vector-effect': 'non-scaling-stroke' });
    this.ways = draw('g');
    this.plane = draw('g', {}, this.dots, this.ways);
    this.over = draw('g');
    this.bar = draw('g', { class: 'bar' });
    this.svg = draw('svg', { class: 'scatter', tabindex: 0, role: 'application', 'aria-label': this.label,
      'aria-describedby': 'map-keys' }, this.plane, this.over, this.bar);
    const button = (text, name, onclick) => make('button', { type: 'button', class: 'icon', 'aria-label': name, title: name, onclick }, text);
    const tools = make('div', { class: 'scatter-tools' },
      button('+', 'Zoom in', () => this.zoomBy(1.6)), button('−', 'Zoom out', () => this.zoomBy(1 / 1.6)),
      button('⤢', 'Show all places', () => this.fit()));
    this.tip = make('div', { class: 'scatter-tip', hidden: true });
    this.note = make('p', { class: 'note' });
    host.replaceChildren(make('div', { class: 'scatter-frame' }, this.svg, tools, this.tip), this.note);
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.svg);
  }

  listen() {
    const on = (name, handler, options) => this.svg.addEventListener(name, handler, options);
    on('pointerdown', (event) => this.pressed(event));
    on('pointermove', (event) => this.moved(event));
    on('pointerup', (event) => this.released(event));
    on('pointercancel', (event) => this.fingers.delete(event.pointerId));
    on('pointerleave', () => { this.tip.hidden = true; });
    on('wheel', (event) => {
      // Until the map is in use the wheel scrolls the page.
      if (document.activeElement !== this.svg && !event.ctrlKey) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 300), this.spot(event));
    }, { passive: false });
    on('keydown', (event) => this.key(event));
  }

  /** All places; those of the frame that most of them share are drawn. Marks are set anew after it. `keep`: what is in
   *  sight stays, if it was moved by hand. */
  setPlaces(places, { keep = false } = {}) {
    const frames = new Map();
    for (const place of places.filter(hasPosition)) frames.set(place.utm_zone ?? 0, (frames.get(place.utm_zone ?? 0) ?? 0) + 1);
    this.frame = [...frames].sort((a, b) => b[1] - a[1])[0]?.[0];
    this.marks = [];
    this.shown = places.filter((place) => this.drawable(place));
    this.origin = this.shown.length > 0 ? { x: this.shown[0].x, y: this.shown[0].y } : { x: 0, y: 0 };
    this.dots.setAttribute('d', this.shown.map((place) =>
      `M${(place.x - this.origin.x).toFixed(2)} ${(place.y - this.origin.y).toFixed(2)}h0`).join(''));
    const missing = places.length - this.shown.length;
    this.note.textContent = missing === 0 ? '' : `${missing.toLocaleString('en')} of ${places.length.toLocaleString('en')} have no position here.`;
    if (keep && this.fitted === false) this.paint(); else this.fit();
  }

  drawable(place) { return hasPosition(place) && (this.frame === undefined || (place.utm_zone ?? 0) === this.frame); }

  /** Marks over the dots: {place, text, kind, title}; kinds are classes of the style. */
  setMarks(marks) {
    this.marks = marks.filter((mark) => this.drawable(mark.place));
    this.paint();
  }

  /** Lines between places: {points, kind}. */
  setLines(lines) {
    this.lines = lines;
    this.ways.replaceChildren(...lines.map(({ points, kind }) => {
      const drawn = points.filter((place) => this.drawable(place));
      return draw('path', { class: `way ${kind}`, 'vector-effect': 'non-scaling-stroke',
        d: drawn.map((place, i) => `${i ? 'L' : 'M'}${(place.x - this.origin.x).toFixed(2)} ${(place.y - this.origin.y).toFixed(2)}`).join('') });
    }));
  }

  /** Shows all of these, or everything. */
  fit(places = [...this.shown, ...this.marks.map((mark) => mark.place)]) {
    if (places.length === 0) { this.paint(); return; }
    let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y } of places) {
      west = Math.min(west, x); east = Math.max(east, x);
      south = Math.min(south, y); north = Math.max(north, y);
    }
    const room = (pixels, length) => Math.max(pixels, 20) / Math.max(length, 10);
    this.zoom = Math.min(room(this.size.width - margin.left - margin.right, east - west),
      room(this.size.height - margin.top - margin.bottom, north - south), closest);
    this.center = { x: (west + east) / 2 + (margin.right - margin.left) / 2 / this.zoom,
      y: (south + north) / 2 - (margin.bottom - margin.top) / 2 / this.zoom };
    this.fitted = true;
    this.paint();
  }

  resized() {
    const { width, height } = this.svg.getBoundingClientRect();
    if (width === 0 || (width === this.size.width && height === this.size.height)) return;
    this.size = { width, height };
    if (this.fitted !== false) this.fit(); else this.paint();
  }

  toScreen(place) {
    return { x: (place.x - this.center.x) * this.zoom + this.size.width / 2,
      y: (this.center.y - place.y) * this.zoom + this.size.height / 2 };
  }

  spot(event) {
    const box = this.svg.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  zoomBy(factor, at = { x: this.size.width / 2, y: this.size.height / 2 }) {
    const zoom = Math.min(Math.max(this.zoom * factor, 1e-5), closest);
    const shift = 1 / this.zoom - 1 / zoom;
    this.center = { x: this.center.x + (at.x - this.size.width / 2) * shift, y: this.center.y - (at.y - this.size.height / 2) * shift };
    this.zoom = zoom;
    this.fitted = false;
    this.paint();
  }

  pan(right, down) {
    this.center = { x: this.center.x - right / this.zoom, y: this.center.y + down / this.zoom };
    this.fitted = false;
    this.paint();
  }

  pressed(event) {
    this.svg.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, this.spot(event));
    if (this.fingers.size === 1) this.travelled = 0;
  }

  moved(event) {
    const now = this.spot(event), before = this.fingers.get(event.pointerId);
    if (!before) { this.hover(now); return; }
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, spot]) => spot);
    this.travelled += Math.hypot(now.x - before.x, now.y - before.y);
    this.tip.hidden = true;
    if (others.length > 0) {
      const gap = (spot) => Math.max(Math.hypot(spot.x - others[0].x, spot.y - others[0].y), 1);
      this.zoomBy(gap(now) / gap(before), { x: (now.x + others[0].x) / 2, y: (now.y + others[0].y) / 2 });
    } else if (this.travelled > 3) {
      this.pan(now.x - before.x, now.y - before.y);
    }
    this.fingers.set(event.pointerId, now);
  }

  released(event) {
    const alone = this.fingers.size === 1;
    this.fingers.delete(event.pointerId);
    if (!alone || this.travelled > 3) return;
    const place = this.nearest(this.spot(event));
    if (place && this.onpick) this.onpick(place);
  }

  nearest(spot) {
    let best, least = reach;
    for (const place of [...this.marks.map((mark) => mark.place), ...this.shown]) {
      const at = this.toScreen(place);
      const gap = Math.hypot(at.x - spot.x, at.y - spot.y);
      if (gap < least) { least = gap; best = place; }
    }
    return best;
  }

  hover(spot) {
    const place = this.nearest(spot);
    this.tip.hidden = !place;
    if (!place) return;
    this.tip.textContent = place.title ?? place.name ?? '';
    const at = this.toScreen(place);
    const left = Math.min(Math.max(at.x, 70), this.size.width - 70);
    this.tip.style.transform = `translate(${left}px, ${at.y - 10}px) translate(-50%, -100%)`;
  }

  key(event) {
    const step = 60;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === '+' || event.key === '=') this.zoomBy(1.4);
    else if (event.key === '-') this.zoomBy(1 / 1.4);
    else if (event.key === '0') this.fit();
    else if (event.key === 'Enter' && this.onpick) this.pickMiddle();
    else return;
    event.preventDefault();
  }

  pickMiddle() {
    const nearer = (best, place) => (!best || distance(place, this.centerPlace()) < distance(best, this.centerPlace()) ? place : best);
    const place = this.shown.reduce(nearer, undefined);
    if (place) this.onpick(place);
  }

  centerPlace() { return { ...this.center, utm_zone: this.frame ?? 0 }; }

  paint() {
    const { width, height } = this.size;
    if (width === 0) return;
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.plane.setAttribute('transform', `translate(${width / 2} ${height / 2}) scale(${this.zoom} ${-this.zoom}) ` +
      `translate(${this.origin.x - this.center.x} ${this.origin.y - this.center.y})`);
    this.over.replaceChildren(...this.marks.map(({ place, text, kind, title }) => {
      const at = this.toScreen(place);
      return draw('g', { class: `mark ${kind}`, transform: `translate(${at.x} ${at.y})` }, title ? draw('title', {}, title) : null,
        draw('circle', { r: text ? 10 : 6 }), text ? draw('text', { y: 4 }, text) : null);
    }));
    const length = barLength(Math.min(width / 3, 160) / this.zoom), pixels = length * this.zoom;
    this.bar.replaceChildren(draw('path', { d: `M16 ${height - 20}v6h${pixels}v-6` }),
      draw('text', { x: 16 + pixels / 2, y: height - 24 }, metres(length)));
  }
}
