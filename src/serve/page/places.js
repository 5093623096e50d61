// SPDX-License-Identifier: MIT
// All places of a map: where they are, what they show, and removing one.
import { api } from './api.js';
import { announce, byId, confirmed, count, make, positionText, shortName, show, tell } from './dom.js';
import { Scatter } from './scatter.js';

const page = 50;  // names of the list shown at a time

let state, scatter;
let places = [], matching = [], listed = page, picked, stale = true;

export function startPlaces(shared) {
  state = shared;
  scatter = new Scatter(byId('places-scatter'), { label: 'Map of all places', onpick: (place) => pick(place) });
  state.onMap(() => { stale = true; picked = undefined; if (!byId('places').hidden) load(); });
  state.changed = () => { stale = true; };
  byId('places').addEventListener('shown', () => { if (stale && state.map) load(); });
  byId('places-filter').addEventListener('input', () => { listed = page; list(); });
  byId('places-more').addEventListener('click', () => { listed += page; list(); });
  byId('place-remove').addEventListener('click', remove);
}

async function load() {
  stale = false;
  show(byId('place-detail'), false);
  tell(byId('places-message'), 'Reading the places…');
  try {
    places = await api.allPlaces(state.map);
  } catch (error) {
    stale = true;
    tell(byId('places-message'), error.message, 'bad');
    return;
  }
  tell(byId('places-message'));
  byId('places-lead').textContent = `${count(places.length, 'place')} of the map “${state.map.name}”, described by ${state.map.method}.`;
  for (const place of places) place.title = shortName(place.name, place.id);
  scatter.setPlaces(places);
  show(byId('places-map-card'), scatter.shown.length > 0);
  byId('places-map-card').parentElement.classList.toggle('lone', scatter.shown.length === 0);
  mark();
  list();
}

function list() {
  const wanted = byId('places-filter').value.trim().toLowerCase();
  matching = wanted === '' ? places : places.filter((place) => place.name.toLowerCase().includes(wanted));
  byId('places-shown').textContent = wanted === '' ? '' : `${count(matching.length, 'place')} with “${wanted}” in the name`;
  byId('places-list').replaceChildren(...matching.slice(0, listed).map((place) => make('li', {},
    make('button', { type: 'button', 'aria-current': place === picked ? 'true' : undefined, title: place.name, onclick: () => pick(place, true) },
      place.title, make('small', {}, String(place.id))))));
  show(byId('places-more'), matching.length > listed);
}

function mark() {
  scatter.setMarks(picked ? [{ place: picked, kind: 'picked', title: picked.title }] : []);
}

async function pick(place, focus = false) {
  picked = place;
  mark();
  list();
  show(byId('place-detail'), true);
  show(byId('place-remove'), state.map.writable);
  byId('place-name').textContent = place.title;
  const facts = { number: String(place.id), name: place.name || 'none', position: positionText(place),
    heading: typeof place.heading === 'number' ? `${Math.round(place.heading)}°` : undefined,
    time: typeof place.stamp === 'number' ? `${place.stamp} s` : undefined };
  byId('place-facts').replaceChildren(...Object.entries(facts).filter(([, text]) => text !== undefined)
    .flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]));
  announce(`${place.title}, ${positionText(place)}`);
  if (focus) byId('place-name').focus();
  const picture = byId('place-picture');
  show(picture, false);
  const url = await api.thumbnail(place);
  if (picked !== place || !url) return;
  picture.src = url;
  picture.alt = `Picture of ${place.title}`;
  show(picture, true);
}

async function remove() {
  const place = picked;
  if (!await confirmed(`Remove ${place.title}?`, 'The place is taken out of the map for everyone. This cannot be undone.', 'Remove')) return;
  try {
    await api.removePlace(state.map, place);
  } catch (error) {
    tell(byId('places-message'), error.message, 'bad');
    return;
  }
  picked = undefined;
  state.map.places -= 1;
  await load();
  tell(byId('places-message'), `${place.title} is removed.`, 'good');
  byId('places-filter').focus();
}
