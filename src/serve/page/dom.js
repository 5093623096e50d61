// SPDX-License-Identifier: MIT
// Elements, words and numbers as every view shows them. Text only ever enters as textContent.

const svgSpace = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** An HTML element: attributes by name, `onclick` and the like are listeners, children nodes or text. */
export const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** The same in SVG. */
export const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(svgSpace, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** Shows an element or not. */
export const show = (element, visible) => { element.hidden = !visible; };

/** What a screen reader says next. */
export function announce(text) {
  byId('announcer').textContent = text;
}

/** A line of a view for what went well (`kind` "good"), wrong ("bad") or on ("busy"); no text: nothing. */
export function tell(element, text = '', kind = 'busy') {
  element.textContent = text;
  element.className = `message ${kind}`;
  element.hidden = text === '';
}

/** Asks before something that cannot be undone; resolves to true or false. */
export function confirmed(question, detail, verb) {
  const dialog = byId('confirm');
  byId('confirm-question').textContent = question;
  byId('confirm-detail').textContent = detail;
  byId('confirm-yes').textContent = verb;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((accept) => {
    dialog.addEventListener('close', () => accept(dialog.returnValue === 'yes'), { once: true });
  });
}

const known = (value) => typeof value === 'number' && Number.isFinite(value);

export const percent = (value) => {
  if (!known(value)) return '–';
  if (value > 0 && value < 0.01) return '< 1 %';
  return value < 1 && value > 0.99 ? '> 99 %' : `${Math.round(value * 100)} %`;
};

export const score = (value) => (known(value) ? value.toFixed(3) : '–');

export function metres(value) {
  if (!known(value)) return '';
  if (value >= 10000) return `${Math.round(value / 1000)} km`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)} km`;
  return value >= 10 || value === 0 ? `${Math.round(value)} m` : `${Number(value.toPrecision(2))} m`;
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

/** "32 north: 500001.8 east, 5400012.0 north" or metres of a frame of its own. */
export function positionText(place) {
  if (!hasPosition(place)) return 'no position';
  const pair = `${place.x.toFixed(1)} east, ${place.y.toFixed(1)} north`;
  return place.utm_zone ? `${pair} · UTM ${Math.abs(place.utm_zone)} ${place.utm_zone > 0 ? 'north' : 'south'}` : `${pair} (metres)`;
}

export const hasPosition = (place) => known(place?.x) && known(place?.y);

/** Metres between two places of one frame, or undefined. */
export function distance(a, b) {
  if (!hasPosition(a) || !hasPosition(b) || (a.utm_zone ?? 0) !== (b.utm_zone ?? 0)) return undefined;
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** A name without its folders; one of the form @east@north@... by what tells it from its neighbours. */
export function shortName(name, number) {
  if (!name) return `place ${number}`;
  const file = name.split('/').pop();
  if (!file.startsWith('@')) return file;
  return file.split('@')[7] || file;
}

/** What a name of the form @east@north@zone@letter@latitude@longitude@... says of the position; {}: nothing. */
export function positionOfName(name) {
  const parts = (name ?? '').split('/').pop().split('@');
  if (parts.length < 10 || parts[0] !== '') return {};
  const [x, y, zone] = parts.slice(1, 4).map(Number);
  if (parts[1] === '' || !known(x) || !known(y)) return {};
  return { x, y, utm_zone: known(zone) ? (/^[C-M]$/i.test(parts[4]) ? -zone : zone) : 0 };
}
