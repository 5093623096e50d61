// SPDX-License-Identifier: MIT
// Writes ONNX models: just enough of the protobuf wire format and of onnx.proto for the networks here.
import { bytesOf } from './tensors.mjs';

function varint(value) {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes = [];
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}

const integer = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);
const text = (field, value) => bytes(field, Buffer.from(value));
const message = (field, parts) => bytes(field, Buffer.concat(parts));

function float(field, value) {
  const data = Buffer.alloc(4);
  data.writeFloatLE(value);
  return Buffer.concat([varint((field << 3) | 5), data]);
}

// AttributeProto: name 1, f 2, i 3, s 4, ints 8, type 20 (1 float, 2 int, 3 string, 7 ints).
function attribute(name, value) {
  if (typeof value === 'string') return [text(1, name), text(4, value), integer(20, 3)];
  if (typeof value === 'bigint') return [text(1, name), integer(3, value), integer(20, 2)];
  if (typeof value === 'number') return [text(1, name), float(2, value), integer(20, 1)];
  return [text(1, name), ...value.map(v => integer(8, v)), integer(20, 7)];
}

// TensorProto.DataType of the typed arrays in use.
const typeCodes = new Map([[Float32Array, 1], [Uint8Array, 2], [Int8Array, 3], [Int32Array, 6], [BigInt64Array, 7]]);

/** Collects nodes and constants. Integer attributes are bigints, as numbers mean floats. */
export class Graph {
  #nodes = [];
  #initializers = [];
  #inputs = [];
  #outputs = [];
  #made = 0;

  /** A constant: its name. */
  constant(data, shape, name = `constant${this.#made++}`) {
    this.#initializers.push(message(5, [
      ...shape.map(size => integer(1, size)), integer(2, typeCodes.get(data.constructor)), text(8, name),
      bytes(9, bytesOf(data)),
    ]));
    return name;
  }
  integers(...values) {
    return this.constant(BigInt64Array.from(values, BigInt), [values.length]);
  }
  scalar(value) {
    return this.constant(Float32Array.of(value), []);
  }
  /** A node: the name of its output, or of all if it has several. */
  node(operator, inputs, attributes = {}, { domain = '', outputs = 1, name } = {}) {
    const id = this.#made++;
    const names = Array.from({ length: outputs }, (_, i) => name ?? `${operator}${id}_${i}`);
    this.#nodes.push(message(1, [
      ...inputs.map(input => text(1, input)), ...names.map(output => text(2, output)),
      text(3, `${operator}${id}`), text(4, operator),
      ...Object.entries(attributes).map(([key, value]) => message(5, attribute(key, value))),
      text(7, domain),
    ]));
    return outputs === 1 ? names[0] : names;
  }
  input(name, shape) {
    this.#inputs.push(message(11, value(name, shape)));
    return name;
  }
  output(name, shape) {
    this.#outputs.push(message(12, value(name, shape)));
  }
  /** The bytes of the model. */
  model(opset) {
    const graph = [...this.#nodes, text(2, 'network'), ...this.#initializers, ...this.#inputs, ...this.#outputs];
    const irVersion = opset >= 23 ? 11 : 8;
    return Buffer.concat([
      integer(1, irVersion), text(2, 'ria_bench'), message(7, graph),
      message(8, [text(1, ''), integer(2, opset)]), message(8, [text(1, 'com.microsoft'), integer(2, 1)]),
    ]);
  }
}

// ValueInfoProto of a float tensor; a shape that is not given is found by ONNX Runtime.
function value(name, shape) {
  const dimensions = shape?.map(size => message(1, [integer(1, size)]));
  return [text(1, name), message(2, [message(1, [integer(1, 1), ...(shape ? [message(2, dimensions)] : [])])])];
}
