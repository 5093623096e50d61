// SPDX-License-Identifier: MIT
// Every request, every limit, and clients that mean no good. service_test.mjs RIA FOLDER: the folder has
// places.ria, other.ria, walls/ and a certificate.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Service, assertError, blackPng, run, wall } from './service.mjs';

const [ria, folder] = process.argv.slice(2);
const maps = '/v1/maps/places';
const scratch = (name) => {
  const to = join(folder, name);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  cpSync(join(folder, 'places.ria'), join(to, 'places.ria'));
  return to;
};
const serving = async (args, body, where = folder) => {
  const service = await Service.start(ria, args, where);
  try {
    await body(service);
  } finally {
    if (service.child.exitCode === null) await service.stop('SIGKILL');
  }
};
const goesOn = async (service) => assert.equal((await service.post(`${maps}/query`, wall(2, 3))).body.places[0].name, '2.ppm');

await run({
  'places are found, added, listed, shown and removed': () => serving(['places.ria', '--pictures', 'walls'], async (s) => {
    const found = await s.post(`${maps}/query?k=2&matches=1`, wall(3, 2));
    assert.equal(found.status, 200);
    assert.equal(found.body.places.length, 2);
    assert.equal(found.body.places[0].name, '3.ppm');
    assert.equal(found.body.guess.id, found.body.places[0].id);
    const pairs = found.body.places[0].matches.pairs;
    assert.ok(pairs.length > 10 && pairs.flat().every((value) => value >= 0 && value <= 1));

    const form = new FormData();
    form.set('picture', new Blob([wall(77)]), 'new.ppm');
    form.set('name', 'new wall');
    form.set('latitude', '52.5');
    form.set('longitude', '13.4');
    const added = await s.post(`${maps}/places?stamp=12.5`, form);
    assert.equal(added.status, 201);
    const { id } = added.body;
    assert.equal(added.headers.get('location'), `${maps}/places/${id}`);
    assert.deepEqual((await s.json(`${maps}/places/${id}`)).body, added.body);
    assert.ok(Math.abs(added.body.latitude - 52.5) < 1e-7 && added.body.utm_zone === 33 && added.body.stamp === 12.5);

    const near = await s.post(`${maps}/query?near=52.5001,13.4,50`, wall(77, 1));
    assert.deepEqual(near.body.places.map((place) => place.id), [id]);
    assert.ok(Math.abs(near.body.places[0].distance - 11.1) < 0.1);
    const elsewhere = await s.post(`${maps}/query?near=52.6,13.4,50`, wall(77, 1));
    assert.deepEqual([elsewhere.body.places, elsewhere.body.guess], [[], null]);

    const all = await s.json(`${maps}/places?offset=1&limit=3`);
    assert.deepEqual(all.body.places.map((place) => place.name), ['1.ppm', '2.ppm', '3.ppm']);
    assert.equal(all.body.total, id + 1);
    for (const place of [0, id]) {
      const picture = await s.fetch(`${maps}/places/${place}/thumbnail`);
      assert.equal(picture.headers.get('content-type'), 'image/jpeg');
      assert.equal(Buffer.from(await picture.arrayBuffer()).readUInt16BE(0), 0xFFD8);
    }
    assert.equal((await s.fetch(`${maps}/places/${id}`, { method: 'DELETE' })).status, 204);
    assertError(await s.json(`${maps}/places/${id}`), 404);
    assertError(await s.json(`${maps}/places/${id}/thumbnail`), 404);
    assertError(await s.json(`${maps}/places/${id}`, { method: 'DELETE' }), 404);
  }, scratchWith('all', ['walls'])),

  'descriptors go out and come in': () => serving(['places.ria'], async (s) => {
    const described = await s.fetch(`${maps}/describe`, { method: 'POST', body: wall(4) });
    const npy = Buffer.from(await described.arrayBuffer());
    assert.ok(npy.toString('latin1').includes('(1, '));
    const found = await s.post(`${maps}/query?k=1`, npy);
    assert.equal(found.body.places[0].name, '4.ppm');
    assert.ok(found.body.places[0].score > 0.999 && found.body.guess === null);
    assertError(await s.post(`${maps}/query`, npy.subarray(0, npy.length - 4)), 400);
    const zero = Buffer.from(npy);
    zero.fill(0, 128);
    assertError(await s.post(`${maps}/query`, zero), 400);
    zero.fill(0xFF, 128);
    assertError(await s.post(`${maps}/query`, zero), 400);
    assertError(await s.post(`${maps}/query`, Buffer.from("\x93NUMPY\x01\x00\x10\x00{'descr': '|O'}", 'latin1')), 400);
  }),

  'a drive closes its loop, in memory, in the map and by looking only': async () => {
    for (const into of ['session', 'map', 'none']) {
      const where = scratch(`drive_${into}`);
      await serving(['places.ria'], async (s) => {
        const before = (await s.json(maps)).body.places;
        const start = await s.post(`${maps}/drives`, JSON.stringify({ into, recent: 3, name: 'round' }));
        assert.equal(start.status, 201);
        const frames = `${maps}/drives/${start.body.drive}/frames`;
        const seeds = into === 'none' ? [0, 1, 2] : [50, 51, 52, 53, 54, 55, 50, 51, 52];
        const said = [];
        for (const seed of seeds) said.push((await s.post(`${frames}?name=w${seed}`, wall(seed, said.length))).body);
        const last = said.at(-1);
        assert.ok(last.loop, JSON.stringify(last));
        assert.equal(last.place, into === 'none' ? '2.ppm' : 'w52');
        const kept = said.filter((frame) => frame.kept_as >= 0);
        assert.equal((await s.json(maps)).body.places - before, into === 'map' ? kept.length : 0);
        if (into === 'map') assert.equal((await s.fetch(`${maps}/places/${kept[0].kept_as}/thumbnail`)).status, 200);
        const told = (await s.json(`${maps}/drives/${start.body.drive}`)).body;
        assert.deepEqual([told.frames, told.into], [seeds.length, into]);
        assertError(await s.post(frames, 'no picture'), 415);
        assert.equal((await s.fetch(`${maps}/drives/${start.body.drive}`, { method: 'DELETE' })).status, 204);
        assertError(await s.post(frames, wall(1)), 404);
      }, where);
    }
  },

  'several maps, opened on demand, and a folder of them': () => serving(['maps'], async (s) => {
    assert.deepEqual((await s.json('/v1/maps')).body.maps, [{ map: 'other', open: false }, { map: 'places', open: false }]);
    assert.equal((await s.json('/v1/maps/other')).body.places, 2);
    assert.deepEqual((await s.json('/v1/maps')).body.maps.map((map) => map.open), [true, false]);
    assertError(await s.json('/v1/maps/third'), 404);
    // Without patches there are neither probabilities nor drives.
    assert.equal((await s.post('/v1/maps/other/query', wall(1))).body.guess, null);
    assertError(await s.post('/v1/maps/other/drives', ''), 409);
  }, mapsFolder()),

  'what another process adds is seen': async () => {
    const where = scratch('second');
    await serving(['places.ria'], (reader) => serving(['places.ria'], async (writer) => {
      const { id } = (await writer.post(`${maps}/places?name=late`, wall(90))).body;
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal((await reader.json(`${maps}/places/${id}`)).body.name, 'late');
      assert.equal((await reader.post(`${maps}/query?k=1`, wall(90, 1))).body.places[0].id, id);
    }, where), where);
  },

  'wrong requests are told in words': () => serving(['places.ria'], async (s) => {
    for (const bad of ['k=0', 'k=x', 'k=1001', 'near=1,2', 'near=91,0,5', 'near=a,b,c', 'near=1,2,3&near_xy=1,2,3', 'matches=2', 'k=50&matches=1', 'K=3', 'k=1&k=2']) {
      assertError(await s.post(`${maps}/query?${bad}`, wall(1)), 400);
    }
    for (const bad of ['latitude=1', 'latitude=1&longitude=2&x=1&y=2', 'latitude=89&longitude=0', 'x=1', 'x=nan&y=1', 'heading=north', 'name=%0A', `name=${'n'.repeat(1100)}`]) {
      assertError(await s.post(`${maps}/places?${bad}`, wall(1)), 400);
    }
    for (const bad of ['{"a', '[]', '{"into": 3}', '{"into": "mars"}', '{"recent": "x"}', '{"recent": -1}', '{"decision": 1e999}', '{"other": 1}', '['.repeat(5000), '{"recent": 1e300}']) {
      assertError(await s.post(`${maps}/drives`, bad), 400);
    }
    for (const id of ['x', '-1', '99999', '99999999999999999999', '0x1', '1.5']) assertError(await s.json(`${maps}/places/${id}`), 404);
    assertError(await s.json('/v1/maps', { method: 'PUT' }), 405);
    assertError(await s.json(`${maps}/query`), 405);
    assertError(await s.json('/v2'), 404);
    assertError(await s.post(`${maps}/query`, ''), 400);
    assertError(await s.json('/v1/maps', { headers: { Origin: 'http://elsewhere.example' } }), 403);
    assertError(await s.raw('GET /v1/maps HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n'), 403);
    assert.equal((await s.json('/v1/maps', { headers: { Origin: s.url } })).status, 200);
    await goesOn(s);
  }),

  'hostile pictures cost nothing': () => serving(['places.ria', '--max_pixels', '8', '--max_body', '2'], async (s) => {
    await goesOn(s);
    const before = s.memory();
    assertError(await s.post(`${maps}/query`, 'a text file\n', { 'Content-Type': 'image/jpeg' }), 415);
    assertError(await s.post(`${maps}/query`, blackPng(40000, 40000, { whole: false })), 413);
    assertError(await s.post(`${maps}/places`, blackPng(3000, 3000)), 413);
    assertError(await s.post(`${maps}/query`, blackPng(2000, 2000, { whole: false })), 400);
    assertError(await s.post(`${maps}/query`, wall(1).subarray(0, 5000)), 400);
    assertError(await s.post(`${maps}/query`, Buffer.from('P6 99999999 99999999 255\n')), 413);
    assertError(await s.post(`${maps}/query`, gzipSync(Buffer.alloc(50e6)), { 'Content-Encoding': 'gzip' }), 413);
    assert.ok(s.memory() - before < 60, `${s.memory() - before} MB`);
    await goesOn(s);
  }),

  'hostile connections end': () => serving(['places.ria', '--request_seconds', '1', '--idle_seconds', '2', '--max_body', '1'], async (s) => {
    const head = `POST ${maps}/query HTTP/1.1\r\nHost: localhost\r\n`;
    const drip = (socket) => { const timer = setInterval(() => socket.destroyed || socket.closed ? clearInterval(timer) : socket.write('x'), 50); };
    const [slowBody, slowHead] = await Promise.all([s.raw(`${head}Content-Length: 1000\r\n\r\n`, drip), s.raw('GET /healthz HTTP/1.1\r\nX: ', drip)]);
    assertError(slowBody, 408);
    assertError(slowHead, 408);
    assertError(await s.raw(`${head}Content-Length: 99999999999999\r\n\r\n`), 413);
    assertError(await s.raw(`${head}Content-Length: 99999999999999999999999999\r\n\r\n`), 413);
    assertError(await s.raw(`${head}Content-Length: -5\r\n\r\n`), 400);
    const chunk = `10000\r\n${'c'.repeat(65536)}\r\n`;
    assertError(await s.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(40)}`), 413);
    assertError(await s.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(3e6)}`), 413);
    assertError(await s.raw(`GET /healthz HTTP/1.1\r\n${'X-Flood: yes\r\n'.repeat(10000)}\r\n`), 431);
    assertError(await s.raw(`GET /healthz HTTP/1.1\r\nX: ${'y'.repeat(100000)}\r\n\r\n`), 431);
    assertError(await s.raw(`GET /${'z'.repeat(4000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`), 414);
    assertError(await s.raw('\x00\x01\x02 garbage\r\n\r\n'), 400);
    assertError(await s.raw('NONSENSE / HTTP/1.1\r\n\r\n'), 400);
    for (const path of ['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', `${maps}/places/%2e%2e`, '/v1/maps/%00', '/v1/maps/a%0d%0ab', '/%', '/%zz']) {
      assertError(await s.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`), 400);
    }
    assertError(await s.raw('GET /v1/maps/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'), 404);
    const part = '--B\r\nContent-Disposition: form-data; name="n"\r\n\r\nv\r\n';
    const form = (body) => `${head}Content-Type: multipart/form-data; boundary=B\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    assertError(await s.raw(form(`${part.repeat(100)}--B--\r\n`)), 400);
    assertError(await s.raw(form('--B\r\nnonsense')), 400);
    const whole = await s.raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1,0-1,3-4\r\nConnection: close\r\n\r\n');
    assert.match(whole, /^HTTP\/1.1 200/);
    await goesOn(s);
  }),

  'connections are bounded': () => serving(['places.ria', '--max_connections', '3', '--idle_seconds', '2'], async (s) => {
    const idle = [1, 2, 3].map(() => s.raw(''));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assertError(await s.raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'), 503);
    await Promise.all(idle);
    await goesOn(s);
  }),

  'tokens give rights': async () => {
    const [reading, writing] = ['read-0123456789abcdef', 'write-0123456789abcdef'];
    writeFileSync(join(folder, 'tokens'), `# who may\nread ${reading}\nwrite ${writing}  # all\n`);
    await serving(['places.ria', '--tokens', 'tokens', '--max_queue', '3'], async (s) => {
      const by = (token) => ({ headers: token ? { Authorization: `Bearer ${token}` } : {} });
      for (const open of ['/', '/healthz', '/openapi.json']) assert.equal((await s.fetch(open)).status, 200);
      for (const wrong of ['', 'nonsense', `${reading}x`, reading.slice(1)]) assertError(await s.json('/v1/maps', by(wrong)), 401);
      assertError(await s.json('/metrics'), 401);
      assertError(await s.json('/v1/maps', { headers: { Authorization: `Basic ${reading}` } }), 401);
      assert.equal((await s.json(maps, by(reading))).body.writable, false);
      assert.equal((await s.json(maps, by(writing))).body.writable, true);
      assertError(await s.json(`${maps}/places`, { method: 'POST', body: wall(5), ...by(reading) }), 403);
      assertError(await s.json(`${maps}/places/0`, { method: 'DELETE', ...by(reading) }), 403);
      assertError(await s.json(`${maps}/drives`, { method: 'POST', ...by(reading) }), 403);
      assert.equal((await s.json(`${maps}/drives`, { method: 'POST', body: '{"into": "none"}', ...by(reading) })).status, 201);
      // Refused before its body is read.
      assertError(await s.raw(`POST ${maps}/places HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n`), 401);
    });
    // The connection goes on behind a short body, which is no request.
    await serving(['places.ria', '--tokens', 'tokens'], async (s) => {
      const inner = 'GET /metrics HTTP/1.1\r\n\r\n';
      const both = await s.raw(`POST ${maps}/places HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${inner.length}\r\n\r\n${inner}` +
        'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      assert.deepEqual([...both.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((match) => match[1]), ['401', '200']);
    });
    await serving(['places.ria', '--read_only'], async (s) => {
      assertError(await s.post(`${maps}/places`, wall(5)), 403);
      assert.equal((await s.json(maps)).body.writable, false);
    });
  },

  'more than the queue holds is refused at once': () => serving(['places.ria', '--num_threads', '1', '--max_queue', '1', '--log', 'json'], async (s) => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => s.post(`${maps}/query`, wall(2, 3, 640, 480))));
    const refused = answers.filter((answer) => answer.status === 429);
    assert.ok(refused.length > 0 && refused.length < 24);
    assert.ok(refused.every((answer) => answer.headers.get('retry-after') === '1'));
    assert.ok(answers.every((answer) => [200, 429].includes(answer.status)));
    await goesOn(s);
    const text = await (await s.fetch('/metrics')).text();
    assert.match(text, new RegExp(`ria_requests_total{operation="queryMap",status="429"} ${refused.length}`));
    const lines = s.err.trim().split('\n').map((line) => JSON.parse(line)).filter((line) => line.operation === 'queryMap');
    assert.equal(lines.length, 25);
    assert.ok(lines.every((line) => line.ms >= 0 && line.target.startsWith(maps)));
  }),

  'a signal drains: what was begun is answered': () => serving(['places.ria', '--num_threads', '1'], async (s) => {
    const begun = Array.from({ length: 6 }, () => s.post(`${maps}/query`, wall(2, 3, 640, 480)));
    for (;;) {
      const text = await (await s.fetch('/metrics')).text();
      const count = (name) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
      const answered = count('ria_requests_total{operation="queryMap",status="200"}');
      if (count('ria_tasks_waiting') + count('ria_tasks_running') + answered === 6) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    s.child.kill('SIGTERM');
    for (const answer of await Promise.all(begun)) assert.equal(answer.status, 200);
    assert.equal(await s.ended, 0);
    await assert.rejects(s.fetch('/healthz'));
  }),

  'nothing acknowledged is lost by kill -9': async () => {
    const where = scratch('killed');
    const acknowledged = new Map();
    for (const round of [0, 1]) {
      await serving(['places.ria'], async (s) => {
        let going = true;
        const adder = async (number) => {
          for (let i = 0; going; ++i) {
            const name = `r${round}-${number}-${i}`;
            const answer = await s.post(`${maps}/places?name=${name}`, wall(i + 1000 * number)).catch(() => null);
            if (answer?.status === 201) acknowledged.set(answer.body.id, name);
          }
        };
        const adders = [1, 2, 3, 4].map(adder);
        while (acknowledged.size < 15 * (round + 1)) await new Promise((resolve) => setTimeout(resolve, 5));
        s.child.kill('SIGKILL');
        going = false;
        await Promise.all(adders);
      }, where);
    }
    await serving(['places.ria'], async (s) => {
      const there = new Map((await s.json(`${maps}/places?limit=10000`)).body.places.map((place) => [place.id, place]));
      for (const [id, name] of acknowledged) {
        assert.equal(there.get(id)?.name, name);
        assert.ok(there.get(id).thumbnail);
      }
    }, where);
  },

  'TLS': () => serving(['places.ria', '--certificate', 'cert.pem', '--key', 'key.pem'], async (s) => {
    assert.ok(s.url.startsWith('https:'));
    const ask = (options, body) => new Promise((resolve, reject) => {
      const request = https.request({ host: 'localhost', port: s.port, ca: readFileSync(join(folder, 'cert.pem')), ...options }, (response) => {
        let text = '';
        response.on('data', (some) => { text += some; });
        response.on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text) }));
      });
      request.on('error', reject);
      request.end(body);
    });
    assert.equal((await ask({ path: '/healthz' })).body.status, 'ok');
    const found = await ask({ path: `${maps}/query?k=1`, method: 'POST' }, wall(3, 1));
    assert.equal(found.body.places[0].name, '3.ppm');
    assert.equal(await s.raw('GET /healthz HTTP/1.1\r\n\r\n'), '');
    assert.equal((await ask({ path: '/healthz' })).status, 200);
  }),

  'the program refuses what cannot be served': async () => {
    const refused = async (args, expected) => {
      await assert.rejects(Service.start(ria, args, folder), (error) => expected.test(error.message));
    };
    await refused(['missing.ria'], /with 1: ria: .*missing\.ria/);
    await refused(['cert.pem'], /with 1: ria: .*cert\.pem/);
    await refused(['places.ria', 'maps/places.ria'], /with 1: .*both be the map 'places'/);
    await refused(['places.ria', '--key', 'key.pem'], /with 2: .*certificate/);
    await refused(['places.ria', '--certificate', 'key.pem', '--key', 'key.pem'], /with 1: .*key\.pem/);
    await refused(['places.ria', '--tokens', 'cert.pem'], /with 1: .*cert\.pem:1/);
    await refused(['places.ria', '--port', '70000'], /with 2: .*port/);
    await serving(['places.ria'], (s) => refused(['places.ria', '--port', String(s.port)], /with 1: .*port/));
  },
});

function scratchWith(name, links) {
  const to = scratch(name);
  for (const link of links) cpSync(join(folder, link), join(to, link), { recursive: true });
  return to;
}

function mapsFolder() {
  const to = join(folder, 'several');
  rmSync(to, { recursive: true, force: true });
  mkdirSync(join(to, 'maps'), { recursive: true });
  for (const name of ['places.ria', 'other.ria']) cpSync(join(folder, name), join(to, 'maps', name));
  return to;
}
