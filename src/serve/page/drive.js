// SPDX-License-Identifier: MIT
// A drive: frames one after another, each with the probability that its place was seen before.
import { api } from './api.js';
import { announce, byId, count, hasPosition, make, percent, positionOfName, score, shortName, show, tell } from './dom.js';
import { Camera, picturesOf, smallCopy, takeDrops, toSend } from './pictures.js';
import { Scatter } from './scatter.js';
import { drawStrip } from './strip.js';

const reasons = { loop: 'seen before', too_recent: 'nothing old enough yet', unlike: 'no place looks like it',
  ambiguous: 'several places look like it', sequence_disagrees: 'the frames before were elsewhere',
  patches_disagree: 'alike as a whole, not in its parts', odometry_forbids: 'too far away to be there',
  standing_still: 'the camera stands still' };
const everyMs = 1000;  // of the camera

let state, scatter, camera;
let frames = [];     // {name, preview, result, position}
let byPlace = new Map();  // number of a place -> frame that was kept as it
let session, queue = [], running = false, stopping = false, following = true, current = -1;

export function startDrive(shared) {
  state = shared;
  scatter = new Scatter(byId('drive-scatter'), { label: 'Map of the way driven', onpick: (place) => {
    const number = frames.findIndex((frame) => frame.position === place);
    if (number >= 0) select(number);
  } });
  camera = new Camera(byId('drive-video'));
  show(byId('drive-camera'), Camera.possible);
  show(byId('drive-folder-label'), 'webkitdirectory' in byId('drive-folder'));
  for (const id of ['drive-files', 'drive-folder']) {
    byId(id).addEventListener('change', (event) => { const files = picturesOf(event.target.files); event.target.value = ''; enqueue(files); });
  }
  takeDrops(byId('drive'), (files) => enqueue(picturesOf(files)));
  byId('drive-camera').addEventListener('click', runCamera);
  byId('drive-stop').addEventListener('click', stop);
  byId('drive-clear').addEventListener('click', clear);
  byId('frames').addEventListener('keydown', walk);
  state.onMap((map) => { byId('drive-into-map').disabled = !map.writable; if (!map.writable && byId('drive-into').value === 'map') byId('drive-into').value = 'session'; clear(); });
}

function enqueue(files) {
  if (files.length === 0) { tell(byId('drive-message'), 'There was no picture among the files.', 'bad'); return; }
  queue.push(...files);
  if (!running) work();
}

async function begin() {
  if (session) return;
  session = await api.startDrive(state.map, { recent: Number(byId('drive-recent').value) || 10, into: byId('drive-into').value });
  show(byId('driving'), true);
  show(byId('drive-options'), false);
}

function busy(on) {
  running = on;
  show(byId('drive-stop'), on);
  show(byId('drive-clear'), !on && frames.length > 0);
  show(byId('drive-progress'), on && !camera.on);
}

/** Sends what waits, one frame at a time: their order is the drive. */
async function work() {
  stopping = false;
  busy(true);
  let done = 0;
  try {
    await begin();
    while (queue.length > 0 && !stopping) {
      const file = queue.shift();
      tell(byId('drive-message'), `${count(queue.length + 1, 'frame')} to go`);
      await send(file);
      done += 1;
      byId('drive-progress').value = done / (done + queue.length);
    }
    sum();
  } catch (error) {
    queue = [];
    tell(byId('drive-message'), error.message, 'bad');
  }
  busy(false);
}

async function send(file) {
  const preview = await smallCopy(file, 480);
  try {
    const result = await api.sendFrame(session, await toSend(file), file.name);
    addFrame({ name: file.name, preview: preview ? URL.createObjectURL(preview) : null, result, position: framePosition(file) });
  } catch (error) {
    if (!error.ofPicture) throw error;
    show(byId('drive-failures'), true);
    byId('drive-failures').append(make('li', {}, `${file.name}: ${error.message}`));
  }
}

function framePosition(file) {
  const position = positionOfName(file.name);
  return hasPosition(position) ? { ...position, name: file.name, title: shortName(file.name) } : undefined;
}

async function runCamera() {
  try {
    await camera.start();
    await begin();
  } catch (error) {
    camera.stop();
    tell(byId('drive-message'), error.message, 'bad');
    return;
  }
  show(byId('drive-camera'), false);
  stopping = false;
  busy(true);
  show(byId('drive-video'), true);
  try {
    while (!stopping) {
      const next = performance.now() + everyMs;
      await send(await camera.take());
      await new Promise((accept) => setTimeout(accept, Math.max(0, next - performance.now())));
    }
    sum();
  } catch (error) {
    tell(byId('drive-message'), error.message, 'bad');
  }
  camera.stop();
  show(byId('drive-video'), false);
  show(byId('drive-camera'), true);
  busy(false);
  if (current >= 0) select(current);
}

function stop() { stopping = true; queue = []; }

async function clear() {
  stop();
  const old = session;
  frames.forEach((frame) => frame.preview && URL.revokeObjectURL(frame.preview));
  frames = []; byPlace = new Map(); session = undefined; current = -1; following = true;
  byId('frames').replaceChildren();
  byId('drive-failures').replaceChildren();
  for (const id of ['driving', 'drive-clear', 'drive-failures', 'drive-map-card', 'drive-message']) show(byId(id), false);
  show(byId('drive-options'), true);
  if (old) await api.endDrive(old).catch(() => {});
}

const matched = (frame) => byPlace.get(frame.result.place_number);
const loops = () => frames.filter((frame) => frame.result.loop);

function addFrame(frame) {
  frame.number = frames.length;
  frames.push(frame);
  if (Number.isInteger(frame.result.kept_as) && frame.result.kept_as >= 0) byPlace.set(frame.result.kept_as, frame);
  byId('frames').append(make('li', { class: `new${frame.result.loop ? ' is-loop' : ''}` },
    make('button', { type: 'button', tabindex: frame.number === 0 ? 0 : -1, title: frame.name, 'aria-label': spoken(frame), onclick: () => { following = false; select(frame.number); } },
      frame.preview ? make('img', { class: 'thumb', src: frame.preview, alt: '' }) : make('span', { class: 'thumb' }), String(frame.number + 1))));
  if (frame.result.loop) announce(spoken(frame));
  paintWay();
  if (following) select(frame.number); else paintStrip();
}

function verdict(frame) {
  const { result } = frame, other = matched(frame);
  const what = other ? `frame ${other.number + 1}` : shortName(result.place, result.place_number);
  return result.loop ? `loop with ${what}, ${percent(result.probability)}` : `no loop: ${reasons[result.reason] ?? result.reason}`;
}

const spoken = (frame) => `Frame ${frame.number + 1}: ${verdict(frame)}`;

/** Shows a frame and what it is like. */
async function select(number) {
  current = number;
  const frame = frames[number], { result } = frame, other = matched(frame);
  [...byId('frames').children].forEach((item, i) => {
    const button = item.firstChild;
    button.tabIndex = i === number ? 0 : -1;
    if (i === number) button.setAttribute('aria-current', 'true'); else button.removeAttribute('aria-current');
  });
  byId('now-frame').src = frame.preview ?? '';
  show(byId('now-frame'), Boolean(frame.preview) && !camera.on);
  byId('now-caption').textContent = `Frame ${number + 1} · ${shortName(frame.name)}`;
  byId('now-match').classList.toggle('loop', result.loop);
  const words = verdict(frame), { cosine } = result;
  byId('now-verdict').replaceChildren(result.loop ? make('b', {}, `${words[0].toUpperCase()}${words.slice(1)}`) : words,
    cosine !== undefined ? ` · similarity ${score(cosine)}` : '');
  paintStrip();
  keepInSight(number);
  const url = other ? other.preview : await picture(result.place_number);
  if (current !== number) return;
  byId('now-place').src = url ?? '';
  show(byId('now-place'), Boolean(url));
  show(byId('now-none'), !url);
  byId('now-none').textContent = result.loop ? 'no picture kept' : 'no loop';
}

/** Of a place of the map. */
async function picture(id) {
  if (!Number.isInteger(id) || id < 0) return null;
  return api.thumbnail(await api.place(state.map, id).catch(() => ({})));
}

function keepInSight(number) {
  const box = byId('strip-scroll'), item = byId('frames').children[number];
  const left = item.offsetLeft - box.offsetLeft;
  if (left < box.scrollLeft || left + item.offsetWidth > box.scrollLeft + box.clientWidth) box.scrollLeft = left - box.clientWidth / 2;
}

/** Arrow keys go from frame to frame. */
function walk(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -frames.length, End: frames.length }[event.key];
  if (!step) return;
  event.preventDefault();
  following = false;
  select(Math.min(Math.max(current + step, 0), frames.length - 1));
  byId('frames').children[current].firstChild.focus();
}

function paintStrip() {
  drawStrip(byId('strip'), frames.map((frame) => ({ probability: frame.result.probability, loop: frame.result.loop, with: matched(frame)?.number })), current, session?.decision);
  byId('strip').setAttribute('aria-label', `${count(frames.length, 'frame')}, ${count(loops().length, 'loop')}`);
}

function paintWay() {
  const way = frames.map((frame) => frame.position).filter(Boolean);
  show(byId('drive-map-card'), way.length > 1);
  if (way.length < 2) return;
  const pairs = loops().map((frame) => [frame.position, matched(frame)?.position]).filter(([a, b]) => a && b);
  scatter.setPlaces(way, { keep: true });
  scatter.setLines([{ points: way, kind: 'driven' }, ...pairs.map((points) => ({ points, kind: 'loop' }))]);
  scatter.setMarks([...loops().filter((frame) => frame.position).map((frame) => ({ place: frame.position, kind: 'likely', title: spoken(frame) })),
    { place: way[way.length - 1], kind: 'you', title: 'latest frame' }]);
}

function sum() {
  const text = `${count(frames.length, 'frame')}, ${count(loops().length, 'loop')}`;
  tell(byId('drive-message'), frames.length === 0 ? 'No frame could be used.' : text, frames.length === 0 ? 'bad' : 'good');
  announce(`The drive has ${text}.`);
}
