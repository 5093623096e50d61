// SPDX-License-Identifier: MIT
// Chromium without a window, driven over its debugging pipe: pages with real clicks, keys and files.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const keyCodes = { Tab: 9, Enter: 13, Escape: 27, ' ': 32, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40 };

/** Starts Chromium; its profile is made in `profile`. More flags: a camera that is made up, say. */
export function launch(profile, flags = []) {
  const browser = spawn('chromium', [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-extensions', '--disable-dev-shm-usage',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--hide-scrollbars',
    ...flags, `--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank',
  ], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  browser.on('error', (error) => { console.error(`chromium: ${error.message}`); process.exit(1); });

  // Messages are JSON texts that end in a zero byte.
  let nextId = 1, rest = Buffer.alloc(0);
  const waiting = new Map(), listeners = [];
  browser.stdio[4].on('data', (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
      const message = JSON.parse(rest.subarray(0, end).toString());
      rest = rest.subarray(end + 1);
      if (!message.id) { listeners.forEach((listener) => listener(message)); continue; }
      const { accept, refuse } = waiting.get(message.id);
      waiting.delete(message.id);
      message.error ? refuse(new Error(message.error.message)) : accept(message.result);
    }
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((accept, refuse) => {
    waiting.set(nextId, { accept, refuse });
    browser.stdio[3].write(JSON.stringify({ id: nextId++, method, params, sessionId }) + '\0');
  });
  return {
    newPage: (screen, scheme) => newPage(send, listeners, screen, scheme),
    async close() {
      await send('Browser.close').catch(() => {});
      browser.kill();
    },
  };
}

/** A page of a screen {width, height, mobile}; `page.on(method, listener)` before `page.open(url)` hears all. */
async function newPage(send, listeners, screen, scheme) {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const page = new Page((method, params) => send(method, params, sessionId), () => send('Target.closeTarget', { targetId }));
  listeners.push((message) => { if (message.sessionId === sessionId) page.heard(message); });
  for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'DOM']) await page.send(`${domain}.enable`);
  await page.send('Emulation.setDeviceMetricsOverride', { width: screen.width, height: screen.height, deviceScaleFactor: 1, mobile: screen.mobile });
  await page.setMedia({ 'prefers-color-scheme': scheme });
  return page;
}

class Page {
  constructor(send, close) {
    this.send = send;
    this.close = close;
    this.listeners = [];
  }

  on(method, listener) { this.listeners.push({ method, listener }); }

  heard({ method, params }) {
    for (const one of this.listeners) if (one.method === method) one.listener(params);
  }

  setMedia(features) {
    return this.send('Emulation.setEmulatedMedia', { features: Object.entries(features).map(([name, value]) => ({ name, value })) });
  }

  /** Everything the page says on the console or throws, and what it loads, each in a line. */
  watch({ onmessage, onrequest }) {
    this.on('Runtime.consoleAPICalled', ({ type, args }) => onmessage(`console ${type}: ${args.map((value) => value.value ?? value.description).join(' ')}`));
    this.on('Runtime.exceptionThrown', ({ exceptionDetails }) => onmessage(exceptionDetails.exception?.description ?? exceptionDetails.text));
    this.on('Log.entryAdded', ({ entry }) => onmessage(`${entry.text} ${entry.url ?? ''}`.trim()));
    this.on('Network.requestWillBeSent', ({ request }) => onrequest(request.url));
  }

  async open(url) {
    const loaded = new Promise((accept) => this.on('Page.loadEventFired', accept));
    await this.send('Page.navigate', { url });
    await loaded;
  }

  /** A function run inside the page with plain values; what it returns. */
  async evaluate(code, ...values) {
    const expression = `(${code})(...${JSON.stringify(values)})`;
    const answer = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
    return answer.result.value;
  }

  /** Until `code` returns something true, which is returned. */
  async until(what, code, ...values) {
    const end = Date.now() + 120000;
    for (;;) {
      const value = await this.evaluate(code, ...values);
      if (value) return value;
      if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
      await new Promise((accept) => setTimeout(accept, 50));
    }
  }

  /** Where the middle of an element is once it has been scrolled into sight; it must be what a click there meets. */
  async spot(selector) {
    return this.evaluate((wanted) => {
      const element = document.querySelector(wanted);
      if (!element) throw new Error(`no ${wanted}`);
      element.scrollIntoView({ block: 'center', inline: 'center' });
      const box = element.getBoundingClientRect();
      const at = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
      const met = document.elementFromPoint(at.x, at.y);
      if (!met || (met !== element && !element.contains(met) && !met.contains(element))) throw new Error(`${wanted} is covered by ${met?.outerHTML.slice(0, 80)}`);
      return at;
    }, selector);
  }

  async mouse(type, at, more = {}) {
    await this.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1, ...more });
  }

  async click(selector) {
    const at = await this.spot(selector);
    await this.mouse('mouseMoved', at, { button: 'none' });
    await this.mouse('mousePressed', at);
    await this.mouse('mouseReleased', at);
  }

  /** One key, by the name the page sees. */
  async press(key, modifiers = 0) {
    const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined;
    const common = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: keyCodes[key] ?? key.toUpperCase().charCodeAt(0), modifiers };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...common });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...common });
  }

  /** Text where the focus is, instead of what is there. */
  async type(text) {
    await this.evaluate(() => document.activeElement.select?.());
    await this.send('Input.insertText', { text });
  }

  /** A click on what opens a file chooser, in which these files are chosen. */
  async choose(selector, files) {
    await this.send('Page.setInterceptFileChooserDialog', { enabled: true });
    const opened = new Promise((accept) => this.on('Page.fileChooserOpened', accept));
    await this.click(selector);
    const { backendNodeId } = await opened;
    await this.send('DOM.setFileInputFiles', { backendNodeId, files });
  }

  /** The whole page, as long as it is, as a JPEG or PNG file. */
  async screenshot(file) {
    mkdirSync(dirname(file), { recursive: true });
    const { data } = await this.send('Page.captureScreenshot', { captureBeyondViewport: true, ...(file.endsWith('.png') ? { format: 'png' } : { format: 'jpeg', quality: 80 }) });
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}
