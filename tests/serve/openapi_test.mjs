// SPDX-License-Identifier: MIT
// openapi.json has the form that OpenAPI 3.1 asks for, and a client that knows nothing else makes a round trip
// through every operation. openapi_test.mjs RIA FOLDER, as service_test.mjs.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Service, run, wall } from './service.mjs';

const [ria, folder] = process.argv.slice(2);
const where = join(folder, 'openapi');
rmSync(where, { recursive: true, force: true });
mkdirSync(where);
cpSync(join(folder, 'places.ria'), join(where, 'places.ria'));
const service = await Service.start(ria, ['places.ria'], where);
const api = await (await service.fetch('/openapi.json')).json();
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

const follow = (node) => node?.$ref ? follow(node.$ref.slice(2).split('/').reduce((at, key) => at[key], api)) : node;

function eachOperation(visit) {
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of methods) if (item[method]) visit(path, method, item[method], [...item.parameters ?? [], ...item[method].parameters ?? []].map(follow));
  }
}

/** Of JSON Schema what the file uses; anything else in it is an error. */
function check(schema, value, at) {
  schema = follow(schema);
  const known = ['type', 'required', 'properties', 'items', 'enum', 'allOf', 'oneOf', 'minimum', 'maximum', 'maxLength', 'minItems', 'maxItems', 'default', 'description', 'format', 'additionalProperties'];
  for (const key of Object.keys(schema)) assert.ok(known.includes(key), `${at}: keyword ${key}`);
  if (schema.allOf) for (const one of schema.allOf) check(one, value, at);
  if (schema.oneOf) assert.equal(schema.oneOf.filter((one) => { try { check(one, value, at); return true; } catch { return false; } }).length, 1, at);
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;
  const types = schema.type === undefined ? [type] : [schema.type].flat();
  assert.ok(types.includes(type) || type === 'integer' && types.includes('number'), `${at} is ${type}, not ${types}`);
  if (schema.enum) assert.ok(schema.enum.includes(value), at);
  if (type === 'array') value.forEach((one, i) => check(schema.items, one, `${at}[${i}]`));
  if (type !== 'object') return;
  for (const name of schema.required ?? []) assert.ok(name in value, `${at} lacks ${name}`);
  for (const [name, one] of Object.entries(value)) if (schema.properties?.[name]) check(schema.properties[name], one, `${at}.${name}`);
}

/** A client written from the file alone. */
async function call(operationId, parameters = {}, body, contentType) {
  let found;
  eachOperation((path, method, operation, declared) => { if (operation.operationId === operationId) found = { path, method, operation, declared }; });
  const { path, method, operation, declared } = found;
  const query = new URLSearchParams();
  let address = path;
  for (const [name, value] of Object.entries(parameters)) {
    const { in: place } = declared.find((one) => one.name === name);
    if (place === 'path') address = address.replace(`{${name}}`, encodeURIComponent(value)); else query.set(name, value);
  }
  if (body !== undefined) assert.ok(Object.keys(operation.requestBody.content).some((type) => new RegExp(`^${type.replace('*', '.*')}$`).test(contentType)));
  const response = await service.fetch(`${address}?${query}`, { method: method.toUpperCase(), body, headers: body === undefined ? {} : { 'Content-Type': contentType } });
  const said = follow(operation.responses[response.status]);
  assert.ok(said, `${operationId} answered ${response.status}, which is not declared`);
  const type = (response.headers.get('content-type') ?? '').split(';')[0];
  if (!said.content) return { status: response.status };
  assert.ok(said.content[type], `${operationId} answered ${type}`);
  if (type !== 'application/json') return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  const json = await response.json();
  check(said.content[type].schema, json, operationId);
  return { status: response.status, json };
}

const used = new Set();
const ask = (operationId, ...rest) => { used.add(operationId); return call(operationId, ...rest); };
const ppm = 'image/x-portable-pixmap';

await run({
  'the file has the form of OpenAPI 3.1': () => {
    assert.match(api.openapi, /^3\.1\.\d+$/);
    assert.ok(api.info.title && api.info.version);
    const ids = new Set();
    eachOperation((path, method, operation, declared) => {
      const at = `${method} ${path}`;
      assert.ok(operation.operationId && !ids.has(operation.operationId), at);
      ids.add(operation.operationId);
      const inPath = [...path.matchAll(/{(\w+)}/g)].map((match) => match[1]);
      assert.deepEqual(declared.filter((one) => one.in === 'path').map((one) => one.name), inPath, at);
      const names = declared.map((one) => `${one.in} ${one.name}`);
      assert.equal(new Set(names).size, names.length, at);
      for (const one of declared) assert.ok(['path', 'query', 'header', 'cookie'].includes(one.in) && one.schema && (one.in !== 'path' || one.required === true), at);
      assert.ok(Object.keys(operation.responses).some((status) => /^2\d\d$/.test(status)), at);
      for (const [status, response] of Object.entries(operation.responses)) assert.ok(/^[1-5]\d\d$/.test(status) && follow(response).description, at);
      for (const media of Object.values(operation.requestBody?.content ?? {})) assert.ok(media.schema, at);
    });
    const refs = [];
    JSON.stringify(api, (key, value) => { if (key === '$ref') refs.push(value); return value; });
    for (const ref of refs) assert.ok(follow({ $ref: ref }), ref);
    for (const one of api.security) for (const name of Object.keys(one)) assert.ok(api.components.securitySchemes[name]);
  },

  'a client written from it makes a round trip': async () => {
    assert.equal((await ask('getHealth')).json.status, 'ok');
    const { map } = (await ask('listMaps')).json.maps[0];
    const { places, dim } = (await ask('getMap', { map })).json;
    const added = (await ask('addPlace', { map, name: 'a wall', x: 3, y: 4 }, wall(300), ppm)).json;
    assert.equal((await ask('listPlaces', { map, limit: 1000 })).json.total, places + 1);
    assert.deepEqual((await ask('getPlace', { map, id: added.id })).json, added);
    assert.ok((await ask('getThumbnail', { map, id: added.id })).bytes.length > 500);
    const found = (await ask('queryMap', { map, k: 2, matches: 1 }, wall(300, 2), ppm)).json;
    assert.equal(found.places[0].id, added.id);
    const npy = (await ask('describePicture', { map }, wall(300), ppm)).bytes;
    assert.equal(npy.length, 128 + 4 * dim);
    assert.equal((await ask('queryMap', { map, near_xy: '0,0,6' }, npy, 'application/octet-stream')).json.places[0].distance, 5);
    const { drive } = (await ask('startDrive', { map }, JSON.stringify({ into: 'session', recent: 1 }), 'application/json')).json;
    for (const seed of [400, 401, 402, 400]) await ask('addFrame', { map, drive, stamp: seed, x: 0, y: 0 }, wall(seed), ppm);
    assert.equal((await ask('getDrive', { map, drive })).json.frames, 4);
    assert.equal((await ask('endDrive', { map, drive })).status, 204);
    assert.equal((await ask('removePlace', { map, id: added.id })).status, 204);
    assert.equal((await ask('getPlace', { map, id: added.id })).status, 404);
    assert.equal((await ask('queryMap', { map }, 'words', ppm)).status, 415);
    assert.match((await ask('getMetrics')).bytes.toString(), /ria_requests_total/);
    const all = [];
    eachOperation((path, method, operation) => all.push(operation.operationId));
    assert.deepEqual([...used].sort(), all.sort());
  },
});
await service.stop();
