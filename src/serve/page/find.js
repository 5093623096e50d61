// SPDX-License-Identifier: MIT
// One picture: which places it shows, what agrees, and adding it as a place.
import { api } from './api.js';
import { announce, byId, count, distance, hasPosition, make, metres, percent, positionOfName, score, shortName, show, tell } from './dom.js';
import { measured, Patches } from './patches.js';
import { Camera, picturesOf, smallCopy, takeDrops, toSend } from './pictures.js';
import { fillPosition, positionForm, readPosition } from './position.js';
import { Scatter } from './scatter.js';

const likely = 0.5;  // a probability from which on an answer is shown as the place

let state, patches, scatter, camera;
let asked;      // the picture that was sent: {file, blob, preview}
let answers = [];
let turn = 0;   // which question an answer belongs to
let previews = [];  // addresses of pictures, until no drawing needs them

export function startFind(shared) {
  state = shared;
  patches = new Patches(byId('patches'));
  scatter = new Scatter(byId('find-scatter'), { label: 'Map of the places with the answers', onpick: (place) => {
    const number = answers.findIndex((answer) => answer.id === place.id);
    if (number >= 0) choose(number);
  } });
  camera = new Camera(byId('find-video'));
  show(byId('find-camera'), Camera.possible);
  show(byId('find-phone'), matchMedia('(pointer: coarse)').matches);
  for (const id of ['find-file', 'find-capture']) {
    byId(id).addEventListener('change', (event) => { take(event.target.files); event.target.value = ''; });
  }
  takeDrops(byId('find'), take);
  document.addEventListener('paste', (event) => {
    if (!byId('find').hidden && event.clipboardData.files.length > 0) take(event.clipboardData.files);
  });
  byId('find-camera').addEventListener('click', toggleCamera);
  byId('find-shoot').addEventListener('click', async () => { const file = await camera.take(); stopCamera(); ask(file); });
  byId('find-k').addEventListener('change', () => asked && ask(asked.file));
  byId('find-again').addEventListener('click', () => asked && ask(asked.file));
  for (const form of ['near', 'add']) positionForm(form, (problem) => tell(byId(form === 'near' ? 'find-message' : 'add-message'), problem, 'bad'));
  byId('patches-most').addEventListener('input', (event) => { patches.limit(Number(event.target.value)); sayPatches(); });
  byId('add').addEventListener('submit', (event) => { event.preventDefault(); add(); });
  state.onMap(reset);
}

function reset(map) {
  const size = map.places === undefined ? '' : `, ${count(map.places, 'place')}`;
  byId('find-lead').textContent = `Show a picture; the map “${map.name}”${size}, says which of its places it is.`;
  show(byId('add-card'), map.writable);
  if (asked) ask(asked.file);
}

async function toggleCamera() {
  if (camera.on) { stopCamera(); return; }
  try {
    await camera.start();
  } catch (error) {
    tell(byId('find-message'), error.message, 'bad');
    return;
  }
  showPicture('video');
  byId('find-camera').textContent = 'Stop the camera';
  show(byId('find-shoot'), true);
  byId('find-shoot').focus();
}

function stopCamera() {
  camera.stop();
  showPicture(asked ? 'preview' : 'invite');
  byId('find-camera').textContent = 'Camera';
  show(byId('find-shoot'), false);
}

function showPicture(which) {
  for (const name of ['preview', 'video', 'invite']) show(byId(`find-${name}`), name === which);
  byId('find-drop').classList.toggle('filled', which !== 'invite');
}

function take(files) {
  const [file] = picturesOf(files);
  if (!file) { tell(byId('find-message'), 'That was no picture.', 'bad'); return; }
  if (camera.on) stopCamera();
  ask(file);
}

function questionOptions() {
  const near = readPosition('near');
  return { k: Math.min(Math.max(Number(byId('find-k').value) || 5, 1), 50), near: near && { ...near, radius: Number(byId('near-radius').value) || 200 } };
}

async function ask(file) {
  const mine = ++turn;
  const copy = await smallCopy(file, 1280);
  asked = { file, blob: await toSend(file), preview: copy ? URL.createObjectURL(copy) : null };
  if (asked.preview) previews.push(asked.preview);
  byId('find-preview').src = asked.preview ?? '';
  byId('find-preview').alt = `Your picture, ${file.name}`;
  showPicture(asked.preview ? 'preview' : 'invite');
  fillForm(file);
  tell(byId('find-message'), `Looking for “${shortName(file.name)}”…`);
  tell(byId('add-message'));
  byId('answers').classList.add('waiting');
  try {
    const found = await api.query(state.map, asked.blob, questionOptions());
    if (mine === turn) showAnswers(found);
  } catch (error) {
    if (mine !== turn) return;
    showAnswers([]);
    show(byId('compared'), false);
    patches.clear();
    forgetPreviews();
    tell(byId('find-message'), error.message, 'bad');
  }
}

/** All but that of the picture that is asked now. */
function forgetPreviews() {
  previews.filter((url) => url !== asked.preview).forEach((url) => URL.revokeObjectURL(url));
  previews = previews.filter((url) => url === asked.preview);
}

function fillForm(file) {
  byId('add-name').value = file.name;
  fillPosition('add', positionOfName(file.name));
}

async function showAnswers(found) {
  answers = found;
  const here = positionOfName(asked.file.name);
  for (const answer of answers) answer.distance ??= distance(here, answer);
  tell(byId('find-message'), answers.length === 0 ? 'No place of the map may be an answer.' : '', 'bad');
  show(byId('find-empty'), answers.length === 0);
  show(byId('compared'), true);
  byId('answers').replaceChildren(...answers.map(answerItem));
  byId('answers').classList.remove('waiting');
  const positioned = answers.some(hasPosition);
  show(byId('find-map-card'), positioned);
  byId('find-map-card').parentElement.classList.toggle('lone', !positioned || !state.map.writable);
  if (answers.length > 0) {
    announce(`${count(answers.length, 'answer')}. ${spoken(answers[0], 0)}`);
    choose(0);
  }
  if (positioned) await showMap(here);
}

const spoken = (answer, i) => [`${i + 1}: ${shortName(answer.name, answer.id)}`,
  answer.probability === undefined ? undefined : `probability ${percent(answer.probability)}`, `score ${score(answer.score)}`,
  answer.distance === undefined ? undefined : `${metres(answer.distance)} away`].filter(Boolean).join(', ');

function answerItem(answer, i) {
  const picture = make('img', { class: 'thumb', alt: '' });
  api.thumbnail(answer).then((url) => { if (url) picture.src = url; else picture.replaceWith(make('span', { class: 'thumb missing' }, 'no picture')); });
  const facts = [answer.probability === undefined ? '' : `score ${score(answer.score)}`, answer.distance === undefined ? '' : `${metres(answer.distance)} away`].filter(Boolean).map((fact) => fact.replaceAll(' ', '\u00a0')).join(' · ');
  const sure = answer.probability;
  const shown = answers[0].probability === undefined ? answer.score : sure;  // nothing where only the first has a probability
  const meter = make('i');
  meter.style.width = `${Math.round(Math.min(Math.max(shown ?? 0, 0), 1) * 100)}%`;
  const button = make('button', { type: 'button', 'aria-pressed': 'false', 'aria-label': spoken(answer, i), title: answer.name, onclick: () => choose(i, true) },
    picture, make('span', { class: 'name' }, make('span', { class: 'rank' }, String(i + 1)), shortName(answer.name, answer.id)), make('span', { class: 'facts' }, facts),
    make('span', { class: 'sure' }, make('b', {}, sure === undefined ? score(answer.score) : percent(sure)), make('small', {}, sure === undefined ? 'score' : 'probability')),
    shown === undefined ? null : make('span', { class: 'meter' }, meter));
  return make('li', { class: sure >= likely ? 'likely' : '' }, button);
}

/** Compares the picture with an answer. */
async function choose(number, scroll = false) {
  const answer = answers[number], mine = turn;
  [...byId('answers').querySelectorAll('button')].forEach((button, i) => button.setAttribute('aria-pressed', i === number));
  byId('patches-title').textContent = `What agrees with ${shortName(answer.name, answer.id)}`;
  markMap(number);
  const [query, place] = await Promise.all([measured(asked.preview), api.thumbnail(answer).then(measured)]);
  if (mine !== turn) return;
  const slider = byId('patches-most');
  slider.max = Math.max(answer.pairs.length, 5);
  show(slider.parentElement, answer.pairs.length > 5);
  patches.limit(Number(slider.value));
  patches.show(query, place, answer.pairs);
  forgetPreviews();
  sayPatches();
  if (scroll) byId('compared').scrollIntoView({ block: 'nearest', behavior: 'auto' });
}

function sayPatches() {
  const all = patches.pairs.length, drawn = Math.min(all, patches.most ?? all);
  byId('patches-note').textContent = all === 0 ? 'No patches agree, or the map keeps none.'
    : `Your picture and the place: ${drawn === all ? '' : `the strongest ${drawn} of `}${count(all, 'patch', 'patches')} that show the same.`;
}

async function showMap(here) {
  const mine = turn;
  const places = await api.allPlaces(state.map).catch(() => answers);
  if (mine !== turn) return;
  scatter.setPlaces(places);
  scatter.you = hasPosition(here) ? { ...here, title: 'your picture, by its name' } : undefined;
  byId('find-map-note').textContent = scatter.you ? 'The red dot is your picture, by its name.' : '';
  markMap(0);
  scatter.fit([...answers, scatter.you].filter((place) => place && scatter.drawable(place)));
}

function markMap(number) {
  const marks = answers.map((answer, i) => ({ place: answer, text: String(i + 1), kind: i === number ? 'picked' : 'answer', title: shortName(answer.name, answer.id) })).reverse();
  const picked = marks.splice(answers.length - 1 - number, 1);
  const you = scatter.you ? [{ place: scatter.you, kind: 'you', title: scatter.you.title }] : [];
  scatter.setMarks([...marks, ...picked, ...you]);
}

async function add() {
  const message = byId('add-message');
  let position;
  try {
    position = readPosition('add');
  } catch (error) {
    tell(message, error.message, 'bad');
    return;
  }
  const fields = { name: byId('add-name').value.trim(), utm_zone: position?.zone };
  if (position) Object.assign(fields, position.kind === 'geo' ? { latitude: position.a, longitude: position.b } : { x: position.a, y: position.b });
  tell(message, 'Adding…');
  try {
    const place = await api.addPlace(state.map, asked.blob, fields);
    tell(message, `Added as place ${place.id}. Ask again, and it is found.`, 'good');
    state.map.places += 1;
    state.changed?.();
  } catch (error) {
    tell(message, error.message, 'bad');
  }
}
