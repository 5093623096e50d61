// SPDX-License-Identifier: MIT
// Where pictures come from: files that are chosen, dropped or pasted, and the camera.
import { make } from './dom.js';

const largest = 6e6;       // bytes that are sent as they are
const longestSide = 2048;  // pixels of what is sent instead of more bytes

/** The pictures among files, in the order of their names; a file of no known type may be one. */
export function picturesOf(files) {
  const orderly = new Intl.Collator('en', { numeric: true }).compare;
  return [...files].filter((file) => !/^(video|audio)\//.test(file.type) && !file.name.startsWith('.'))
    .sort((a, b) => orderly(a.webkitRelativePath || a.name, b.webkitRelativePath || b.name));
}

/** Files of a drop, those in dropped folders too. */
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files];
  const walk = async (entry) => {
    if (entry.isFile) return [await new Promise((accept, refuse) => entry.file(accept, refuse))];
    const reader = entry.createReader(), found = [];
    for (let some; (some = await new Promise((accept, refuse) => reader.readEntries(accept, refuse))).length > 0;) found.push(...some);
    return (await Promise.all(found.map(walk))).flat();
  };
  return (await Promise.all(entries.map(walk))).flat();
}

/** Makes an element take files that are dropped on it. */
export function takeDrops(element, onfiles) {
  let inside = 0;
  const light = () => element.classList.toggle('dropping', inside > 0);
  element.addEventListener('dragenter', (event) => { event.preventDefault(); inside += 1; light(); });
  element.addEventListener('dragleave', () => { inside -= 1; light(); });
  element.addEventListener('dragover', (event) => event.preventDefault());
  element.addEventListener('drop', async (event) => {
    event.preventDefault();
    inside = 0;
    light();
    onfiles(await droppedFiles(event.dataTransfer));
  });
}

async function drawn(source, side, type, quality) {
  const width = source.videoWidth ?? source.width, height = source.videoHeight ?? source.height;
  const scale = Math.min(1, side / Math.max(width, height));
  const canvas = make('canvas', { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) });
  canvas.getContext('2d').drawImage(source, 0, 0, canvas.width, canvas.height);
  return new Promise((accept) => canvas.toBlob(accept, type, quality));
}

/** A small copy to look at, as a blob, or null if the browser cannot show the file. */
export async function smallCopy(file, side = 320) {
  const picture = await createImageBitmap(file).catch(() => null);
  if (!picture) return null;
  const copy = await drawn(picture, side, 'image/jpeg', 0.8);
  picture.close();
  return copy;
}

/** What is sent of a file: its own bytes unless they are many, which a phone's picture has. */
export async function toSend(file) {
  if (file.size <= largest) return file;
  return (await smallCopy(file, longestSide)) ?? file;
}

/** The camera in a <video>. Where the browser has none to give, start() throws in words. */
export class Camera {
  constructor(video) { this.video = video; }

  static get possible() { return Boolean(navigator.mediaDevices?.getUserMedia); }

  async start() {
    const wanted = { video: { facingMode: { ideal: 'environment' }, width: { ideal: 1280 } }, audio: false };
    try {
      this.stream = await navigator.mediaDevices.getUserMedia(wanted);
    } catch (error) {
      throw new Error({ NotAllowedError: 'The browser was not allowed to use the camera.',
        NotFoundError: 'No camera was found.' }[error.name] ?? `The camera cannot be used: ${error.message}`);
    }
    this.video.srcObject = this.stream;
    await this.video.play();
  }

  /** What the camera sees now, as a JPEG file. */
  async take() {
    const blob = await drawn(this.video, 1280, 'image/jpeg', 0.9);
    return new File([blob], `camera ${new Date().toISOString().slice(0, 19).replace('T', ' ')}.jpg`, { type: 'image/jpeg' });
  }

  stop() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = undefined;
    this.video.srcObject = null;
  }

  get on() { return this.stream !== undefined; }
}
