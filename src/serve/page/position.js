// SPDX-License-Identifier: MIT
// A position in a form, as people have it: latitude and longitude, or metres. The controls of the form
// NAME have the ids NAME-kind, NAME-a, NAME-b, NAME-zone and NAME-here; data-of says for which kinds
// one is there, data-name what it is called.
import { byId, show } from './dom.js';

function update(name) {
  const { value: kind } = byId(`${name}-kind`);
  for (const element of document.querySelectorAll(`[data-of~="${name}"]`)) {
    show(element, element.dataset.of.split(' ').slice(1).includes(kind));
    for (const title of element.querySelectorAll('[data-name]')) show(title, title.dataset.name === kind);
  }
}

/** Makes the form follow its kind; `complain(text)` where the browser does not know where it is. */
export function positionForm(name, complain) {
  byId(`${name}-kind`).addEventListener('change', () => update(name));
  byId(`${name}-here`).addEventListener('click', () => {
    if (!navigator.geolocation) { complain('This browser does not know where it is.'); return; }
    navigator.geolocation.getCurrentPosition(({ coords }) => {
      byId(`${name}-a`).value = coords.latitude.toFixed(6);
      byId(`${name}-b`).value = coords.longitude.toFixed(6);
    }, () => complain('The browser does not say where it is; it may have to be allowed to.'));
  });
  update(name);
}

/** Puts {x, y, utm_zone} into the form; nothing of it: not known. */
export function fillPosition(name, { x, y, utm_zone: zone }) {
  byId(`${name}-kind`).value = x === undefined ? '' : 'xy';
  byId(`${name}-a`).value = x ?? '';
  byId(`${name}-b`).value = y ?? '';
  byId(`${name}-zone`).value = zone || '';
  update(name);
}

/** {kind: 'geo' or 'xy', a, b, zone}, or undefined where no position is given. Throws in words. */
export function readPosition(name) {
  const { value: kind } = byId(`${name}-kind`);
  if (kind === '') return undefined;
  const number = (id) => {
    const text = (byId(id)?.value ?? '').trim().replace(',', '.');
    return text === '' ? undefined : Number(text);
  };
  const [a, b, zone] = ['a', 'b', 'zone'].map((part) => number(`${name}-${part}`));
  const [first, second] = kind === 'geo' ? ['latitude', 'longitude'] : ['east', 'north'];
  if (!Number.isFinite(a) || !Number.isFinite(b)) throw new Error(`A position has two numbers, ${first} and ${second}.`);
  if (kind === 'geo') return { kind, a, b };
  if (zone !== undefined && !(Number.isInteger(zone) && zone !== 0 && Math.abs(zone) <= 60)) throw new Error('A UTM zone is 1 to 60, or -1 to -60 in the south.');
  return { kind, a, b, zone };
}
