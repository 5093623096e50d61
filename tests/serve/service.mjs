// SPDX-License-Identifier: MIT
// The service as a child process, and pictures to ask it with.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import net from 'node:net';
import { deflateSync, crc32 } from 'node:zlib';

/** A picture of a made-up wall; the same seed gives the same wall, seen from a little to the side. */
export function wall(seed, shift = 0, width = 160, height = 120) {
  const head = Buffer.from(`P6\n${width} ${height}\n255\n`);
  const body = Buffer.alloc(width * height * 3);
  const hash = (x, y) => {
    let h = Math.imul(x * 73856093 ^ y * 19349663 ^ seed * 83492791, 2654435761);
    h = Math.imul(h ^ h >>> 15, 2246822519);
    return (h ^ h >>> 13) >>> 24;
  };
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      for (let c = 0; c < 3; ++c) {
        body[(y * width + x) * 3 + c] = (3 * hash(x + shift >> 4, y >> 4) + hash(x + shift >> 2, (y >> 2) + 1000 * c)) >> 2;
      }
    }
  }
  return Buffer.concat([head, body]);
}

const table = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; ++k) n = n & 1 ? 0xEDB88320 ^ n >>> 1 : n >>> 1;
  return n >>> 0;
});
const checksum = crc32 ?? ((bytes) => {
  let c = 0xFFFFFFFF;
  for (const byte of bytes) c = table[(c ^ byte) & 255] ^ c >>> 8;
  return (c ^ 0xFFFFFFFF) >>> 0;
});

/** A black PNG of any size, whose rows may be missing. */
export function blackPng(width, height, { whole = true } = {}) {
  const chunk = (kind, data) => {
    const typed = Buffer.concat([Buffer.from(kind), data]);
    const out = Buffer.alloc(8 + typed.length);
    out.writeUInt32BE(data.length, 0);
    typed.copy(out, 4);
    out.writeUInt32BE(checksum(typed), 4 + typed.length);
    return out;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc(whole ? (width + 1) * height : 1000));
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1A\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

export class Service {
  /** Waits until it takes requests. */
  static async start(ria, args, folder) {
    const service = new Service();
    service.child = spawn(ria, ['serve', ...(args.includes('--port') ? [] : ['--port', '0']), ...args], { cwd: folder, env: { ...process.env, OMP_WAIT_POLICY: 'passive' } });
    service.out = service.err = '';
    service.ended = new Promise((resolve) => service.child.on('exit', (code, signal) => resolve(code ?? signal)));
    service.child.stderr.on('data', (text) => { service.err += text; });
    await new Promise((resolve, reject) => {
      service.child.stdout.on('data', (text) => {
        service.out += text;
        const found = /(https?):\/\/\S*:(\d+)\//.exec(service.out);
        if (!found) return;
        service.url = `${found[1]}://127.0.0.1:${found[2]}`;
        service.port = Number(found[2]);
        resolve();
      });
      service.ended.then((code) => reject(new Error(`ria serve ended with ${code}: ${service.err}`)));
    });
    return service;
  }

  fetch(path, options = {}) { return fetch(this.url + path, options); }

  async json(path, options = {}) {
    const response = await this.fetch(path, options);
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  post(path, body, headers = {}) { return this.json(path, { method: 'POST', body, headers }); }

  /** Bytes as they are; resolves with all that came back when the service has closed. `more` may go on writing. */
  raw(bytes, more = () => {}) {
    return new Promise((resolve) => {
      const socket = net.connect(this.port, '127.0.0.1', () => { socket.write(bytes); more(socket); });
      let text = '';
      socket.on('data', (some) => { text += some.toString('latin1'); });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
      socket.setTimeout(20000, () => socket.destroy());
    });
  }

  memory() {
    const said = spawnSync('cat', [`/proc/${this.child.pid}/status`]).stdout.toString();
    return Number(/VmHWM:\s+(\d+)/.exec(said)[1]) / 1024;
  }

  async stop(signal = 'SIGTERM') {
    this.child.kill(signal);
    return this.ended;
  }
}

/** That an answer, raw or of json(), is one JSON error with this status. */
export function assertError(answer, status) {
  if (typeof answer === 'string') {
    const [head, body] = answer.split('\r\n\r\n');
    answer = { status: Number(head.split(' ')[1]), body: JSON.parse(body ?? 'null') };
  }
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.deepEqual(Object.keys(answer.body), ['error']);
  assert.ok(answer.body.error.length > 5);
}

/** Runs named tests one after the other; the process ends with 1 if one failed. */
export async function run(tests) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const start = Date.now();
    try {
      await test();
      console.log(`ok   ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      ++failed;
      console.log(`FAIL ${name}: ${error.stack}`);
    }
  }
  process.exitCode = failed ? 1 : 0;
}
