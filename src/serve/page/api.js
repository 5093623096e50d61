// SPDX-License-Identifier: MIT
// The service as the page uses it; docs/service.md says what each address does.
const pageOfPlaces = 5000;  // places asked for at a time
const mostThumbnails = 300; // kept at a time

const under = (map) => `/v1/maps/${encodeURIComponent(map)}`;

class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }

  /** The picture is at fault, not the service: others may go on. */
  get ofPicture() { return [400, 413, 415, 422].includes(this.status); }
}

const inWords = { 401: 'The service wants an access token.', 403: 'This token does not allow that.', 413: 'The picture is too large for the service.',
  429: 'The service is busy; try again in a moment.', 503: 'The service is stopping or not ready.' };

class Api {
  onRefused = () => {};
  thumbnails = new Map();

  get token() { return sessionStorage.getItem('token') ?? ''; }

  set token(text) {
    if (text === '') sessionStorage.removeItem('token'); else sessionStorage.setItem('token', text);
  }

  async request(method, path, { query = {}, body, type } = {}) {
    const address = new URL(path, location.origin);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, value);
    const headers = {};
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body) headers['Content-Type'] = type ?? (body.type || 'application/octet-stream');
    let response;
    try {
      response = await fetch(address, { method, headers, body });
    } catch {
      throw new ServiceError('The service cannot be reached. Is it running?', 0);
    }
    if (response.ok) return response;
    const told = await response.json().catch(() => ({}));
    if (response.status === 401) this.onRefused();
    throw new ServiceError(told.error ?? inWords[response.status] ?? `The service answered ${response.status}.`, response.status);
  }

  async json(...rest) {
    const response = await this.request(...rest);
    return response.status === 204 ? undefined : response.json();
  }

  /** Names of the maps. */
  async maps() { return (await this.json('GET', '/v1/maps')).maps.map(({ map }) => map); }

  /** {name, method, places, writable, patches} */
  async map(name) {
    const { map, method, places, writable, rerank } = await this.json('GET', under(name));
    return { name: map, method, places, writable, patches: rerank };
  }

  /** The most alike places of a picture, with the patches that agree. `near`: {kind: 'geo' or 'xy', a, b, radius}. */
  async query(map, blob, { k, near }) {
    const around = near && `${near.a},${near.b},${near.radius}`;
    const found = await this.json('POST', `${under(map.name)}/query`, { body: blob,
      query: { k, matches: map.patches ? 1 : undefined, [near?.kind === 'xy' ? 'near_xy' : 'near']: around } });
    return found.places.map((place) => ({ ...place, probability: place.probability ?? undefined, distance: place.distance ?? undefined,
      pairs: (place.matches?.pairs ?? []).map(([qx, qy, px, py, weight]) => ({ qx, qy, px, py, weight })) }));
  }

  /** Every place, read in pages; kept until this page changes the map. */
  async allPlaces(map) {
    if (this.known?.map === map.name) return this.known.places;
    const places = [];
    for (let total = 1; places.length < total;) {
      const some = await this.json('GET', `${under(map.name)}/places`, { query: { offset: places.length, limit: pageOfPlaces } });
      places.push(...some.places);
      total = some.places.length === 0 ? 0 : some.total;
    }
    this.known = { map: map.name, places };
    return places;
  }

  async place(map, id) { return this.json('GET', `${under(map.name)}/places/${id}`); }

  /** Address of a small picture of a place, or null where none is kept. */
  thumbnail({ thumbnail }) {
    if (!thumbnail) return Promise.resolve(null);
    if (!this.thumbnails.has(thumbnail)) {
      if (this.thumbnails.size >= mostThumbnails) this.forget(this.thumbnails.keys().next().value);
      this.thumbnails.set(thumbnail, this.request('GET', thumbnail)
        .then((response) => response.blob()).then((blob) => URL.createObjectURL(blob)).catch(() => null));
    }
    return this.thumbnails.get(thumbnail);
  }

  async forget(key) {
    const url = await this.thumbnails.get(key);
    this.thumbnails.delete(key);
    if (url) URL.revokeObjectURL(url);
  }

  async addPlace(map, blob, fields) {
    this.known = undefined;
    return this.json('POST', `${under(map.name)}/places`, { body: blob, query: fields });
  }

  async removePlace(map, { id }) {
    this.known = undefined;
    await this.json('DELETE', `${under(map.name)}/places/${id}`);
  }

  /** A drive {path, decision}; `into`: 'session', 'map' or 'none'. */
  async startDrive(map, options) {
    const started = await this.json('POST', `${under(map.name)}/drives`, { body: JSON.stringify(options), type: 'application/json' });
    if (options.into === 'map') this.known = undefined;
    return { path: `${under(map.name)}/drives/${encodeURIComponent(started.drive)}`, decision: started.decision };
  }

  async sendFrame(drive, blob, name) { return this.json('POST', `${drive.path}/frames`, { body: blob, query: { name } }); }

  async endDrive(drive) { await this.json('DELETE', drive.path); }
}

export const api = new Api();
