// SPDX-License-Identifier: MIT
// The page as a whole: which view, which map, light or dark, and the token.
import { api } from './api.js';
import { announce, byId, make, show, tell } from './dom.js';
import { startDrive } from './drive.js';
import { startFind } from './find.js';
import { startPlaces } from './places.js';

const views = ['find', 'places', 'drive'];

/** What the views share: the map that is chosen, and whom to tell when it changes. */
const state = {
  map: undefined,  // {name, method, places, writable, patches}
  listeners: [],
  onMap(listener) { this.listeners.push(listener); },
  async choose(name) {
    this.wanted = name;
    tell(byId('trouble'));
    try {
      const map = await api.map(name);
      if (this.wanted !== name) return;  // another one was chosen meanwhile
      this.map = map;
    } catch (error) {
      if (this.wanted === name) tell(byId('trouble'), error.message, 'bad');
      return;
    }
    sessionStorage.setItem('map', name);
    this.listeners.forEach((listener) => listener(this.map));
  },
};

function currentView() {
  const wanted = location.hash.slice(1);
  return views.includes(wanted) ? wanted : 'find';
}

function showView() {
  if (location.hash === '#main') return;
  const view = currentView();
  for (const name of views) show(byId(name), name === view);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${view}`) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  document.title = `ria · ${byId(`${view}-title`).textContent}`;
  byId(view).dispatchEvent(new Event('shown'));
}

function startTheme() {
  const button = byId('theme'), root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const update = () => button.setAttribute('aria-pressed', dark());
  const kept = localStorage.getItem('theme');
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
  button.addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    // Back at what the system says: follow it again.
    if (dark() === system.matches) localStorage.removeItem('theme'); else localStorage.setItem('theme', root.dataset.theme);
    update();
  });
  system.addEventListener('change', () => { if (!localStorage.getItem('theme')) delete root.dataset.theme; update(); });
  update();
}

function showToken(visible) {
  show(byId('token-form'), visible);
  byId('token-button').setAttribute('aria-expanded', visible);
  if (visible) byId('token').focus();
}

function startToken() {
  byId('token').value = api.token;
  byId('token-button').addEventListener('click', () => showToken(byId('token-form').hidden));
  byId('token-form').addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    showToken(false);
    byId('token-button').focus();
  });
  byId('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    api.token = byId('token').value;
    showToken(false);
    byId('token-button').focus();
    loadMaps();
  });
  api.onRefused = () => { if (byId('token-form').hidden) showToken(true); };
}

async function loadMaps() {
  tell(byId('trouble'));
  let names;
  try {
    names = await api.maps();
  } catch (error) {
    tell(byId('trouble'), error.message, 'bad');
    return;
  }
  if (names.length === 0) { tell(byId('trouble'), 'This service has no map.', 'bad'); return; }
  const select = byId('map'), kept = sessionStorage.getItem('map');
  select.replaceChildren(...names.map((name) => make('option', { value: name }, name)));
  select.value = names.includes(kept) ? kept : names[0];
  await state.choose(select.value);
}

startTheme();
startToken();
startFind(state);
startPlaces(state);
startDrive(state);
byId('map').addEventListener('change', () => {
  state.choose(byId('map').value);
  announce(`Map ${byId('map').value}`);
});
addEventListener('hashchange', showView);
showView();
loadMaps();
