// SPDX-License-Identifier: MIT
// Tensors in files: safetensors (float32 only) and bare float32 values.
import fs from 'node:fs';

const count = shape => shape.reduce((product, size) => product * size, 1);

/** {name: {shape, data: Float32Array}} of a safetensors file, and its metadata. */
export function readSafetensors(path) {
  const file = fs.readFileSync(path);
  const headerSize = Number(file.readBigUInt64LE(0));
  const { __metadata__: metadata = {}, ...entries } = JSON.parse(file.toString('utf8', 8, 8 + headerSize));
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
    if (dtype !== 'F32' || end - begin !== 4 * count(shape)) throw new Error(`${path}: ${name} is no float32 tensor`);
    const bytes = file.subarray(8 + headerSize + begin, 8 + headerSize + end);
    tensors[name] = { shape, data: new Float32Array(new Uint8Array(bytes).buffer) };
  }
  return { tensors, metadata };
}

export function writeSafetensors(path, tensors, metadata = {}) {
  const header = { __metadata__: metadata };
  let offset = 0;
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  let text = JSON.stringify(header);
  text += ' '.repeat((8 - (Buffer.byteLength(text) % 8)) % 8);  // the data stay aligned
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  const file = fs.openSync(path, 'w');
  fs.writeSync(file, size);
  fs.writeSync(file, text);
  for (const { data } of Object.values(tensors)) fs.writeSync(file, bytesOf(data));
  fs.closeSync(file);
}

export function readFloats(path) {
  const bytes = fs.readFileSync(path);
  if (bytes.length % 4) throw new Error(`${path}: ${bytes.length} bytes are no float32 values`);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

export function writeFloats(path, data) {
  fs.writeFileSync(path, bytesOf(data));
}

export function bytesOf(array) {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
