// SPDX-License-Identifier: MIT
// page_test.mjs ADDRESS FOLDER [SCREENSHOTS]: what a person does with the page, see page_test.sh.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from '../support/browser.mjs';
import { leastContrast, pastTheEdge, unnamed } from './page_checks.mjs';

const [address, folder, screenshots] = process.argv.slice(2);
const phone = { name: 'phone', width: 360, height: 780, mobile: true };
const desktop = { name: 'desktop', width: 1280, height: 900, mobile: false };
const numberOf = (name) => Number(name.match(/ria(\d{6})/)[1]);
const pictures = (name) => readdirSync(join(folder, name)).sort((a, b) => (name === 'drive' ? a.localeCompare(b) : numberOf(a) - numberOf(b)))
  .map((file) => join(folder, name, file));
const queries = pictures('street/queries'), frames = pictures('drive');
const browser = launch(join(folder, 'profile'), ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']);
const faults = [];

/** A page that complains of every message on the console but those of answers that are refused on purpose. */
async function openPage(screen, scheme, refusals) {
  const page = await browser.newPage(screen, scheme);
  page.refused = 0;
  page.watch({
    onmessage: (text) => { if (/status of (400|401|415)/.test(text)) page.refused += 1; else faults.push(`${screen.name}, ${scheme}: ${text}`); },
    onrequest: (url) => { if (!url.startsWith(address) && !/^(blob|data):/.test(url)) faults.push(`${screen.name}, ${scheme}: loads ${url}`); },
  });
  page.done = async () => { assert.equal(page.refused, refusals, 'refused requests'); await page.close(); };
  page.view = async (name) => {
    await page.click(`nav a[href="#${name}"]`);
    await page.until(name, (id) => !document.getElementById(id).hidden, name);
  };
  page.looked = async (name) => {
    const where = `${name} on a ${screen.name}, ${scheme}`;
    assert.deepEqual(await page.evaluate(pastTheEdge), [], `past the edge: ${where}`);
    assert.deepEqual(await page.evaluate(unnamed), [], `controls without a name: ${where}`);
    const worst = await page.evaluate(leastContrast);
    assert.ok(worst.ratio >= 4.5, `contrast ${worst.ratio.toFixed(2)} of ${worst.what}: ${where}`);
    if (screenshots) await page.screenshot(join(screenshots, `serve_${name}_${screen.name}_${scheme}.png`));
  };
  await page.open(address);
  return page;
}

const text = (page, selector) => page.evaluate((wanted) => document.querySelector(wanted).textContent, selector);
const answers = (page) => page.until('answers', () => {
  const found = [...document.querySelectorAll('#answers button')];
  return document.querySelector('#find-message').hidden && found.length > 0 && found.map((button) => ({ name: button.title, spoken: button.ariaLabel }));
});

async function giveToken(page) {
  await page.until('the field for the token', () => document.activeElement.id === 'token' && /token/.test(document.querySelector('#trouble').textContent));
  await page.type('page-test-token-0123');
  await page.press('Enter');
  await page.until('the maps', () => document.querySelectorAll('#map option').length === 2);
  await page.evaluate(() => { const map = document.querySelector('#map'); map.value = 'street'; map.dispatchEvent(new Event('change')); });
  await page.until('the map', () => document.querySelector('#find-lead').textContent.includes('street'));
}

/** Fresh answers: those of before are not taken for new ones. */
async function ask(page, file) {
  await page.evaluate(() => document.querySelector('#answers').replaceChildren());
  await page.choose('label:has(#find-file)', [file]);
  return answers(page);
}

async function findPlaces(page) {
  const found = await ask(page, queries[5]);
  assert.equal(numberOf(found[0].name), 5);
  assert.match(found[0].spoken, /probability .*%, score 0\.\d+, [\d.]+ m away/);
  // Lines begin on one picture and end on the other, and most follow the small step between the two drives.
  const lines = await page.until('lines', () => {
    const [left, right] = [...document.querySelectorAll('#patches image')].map((image) => image.getBBox());
    const inside = ({ x, y }, box) => x >= box.x && y >= box.y && x <= box.x + box.width && y <= box.y + box.height;
    return right && [...document.querySelectorAll('#patches .link')].map((line) => {
      const [a, b] = [line.getPointAtLength(0), line.getPointAtLength(line.getTotalLength())];
      return { inside: inside(a, left) && inside(b, right), moved: Math.hypot((a.x - left.x) / left.width - (b.x - right.x) / right.width, (a.y - left.y) / left.height - (b.y - right.y) / right.height) };
    });
  });
  assert.ok(lines.length >= 20, `${lines.length} lines`);
  assert.ok(lines.every((line) => line.inside));
  assert.ok(lines.filter((line) => line.moved < 0.15).length > lines.length / 2, 'patches that agree lie near each other');
  // Fewer lines by the slider; another answer by a click.
  await page.evaluate(() => { const slider = document.querySelector('#patches-most'); slider.value = 10; slider.dispatchEvent(new Event('input')); });
  assert.equal(await page.evaluate(() => document.querySelectorAll('#patches .link').length), 10);
  const title = await text(page, '#patches-title');
  await page.click('#answers li:nth-child(2) button');
  await page.until('another pair', (before) => document.querySelector('#patches-title').textContent !== before, title);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#find-scatter .mark.answer').length), 4);
  await page.click('#answers li:nth-child(1) button');
  await page.looked('find');
}

async function refuseText(page) {
  await page.choose('label:has(#find-file)', [join(folder, 'text.jpg')]);
  await page.until('the refusal', () => document.querySelector('#find-message.bad') && !document.querySelector('#find-message').hidden);
  assert.match(await text(page, '#find-message'), /picture|image|format/i);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#answers li').length), 0);
  await page.looked('wrong_file');
}

async function addAndRemove(page) {
  const name = 'my <b>place & "more"';
  await ask(page, queries[17]);
  await page.click('#add-name');
  await page.type(name);
  await page.click('#add button[type="submit"]');
  await page.until('the place', () => document.querySelector('#add-message.good'));
  const found = await ask(page, queries[17]);
  assert.equal(found[0].name, name);
  await page.view('places');
  await page.until('the places', () => document.querySelectorAll('#places-list button').length === 21);
  await page.click('#places-filter');
  await page.type('MY <b>');
  await page.until('one name', () => document.querySelectorAll('#places-list button').length === 1);
  await page.click('#places-list button');
  await page.until('its picture', () => !document.querySelector('#place-picture').hidden && document.querySelector('#place-picture').naturalWidth > 0);
  assert.equal(await text(page, '#place-name'), name);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#place-detail b').length), 0);
  await page.looked('places');
  await page.click('#place-remove');
  await page.until('the question', () => document.querySelector('#confirm').open);
  await page.press('Escape');
  await page.until('no question', () => !document.querySelector('#confirm').open);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#places-list button').length), 1);
  await page.click('#place-remove');
  await page.click('#confirm-yes');
  await page.until('the removal', () => document.querySelector('#places-message.good') && document.querySelectorAll('#places-list button').length === 0);
  await page.evaluate(() => { const filter = document.querySelector('#places-filter'); filter.value = ''; filter.dispatchEvent(new Event('input')); });
}

async function moveMap(page) {
  const plane = () => page.evaluate(() => document.querySelector('#places-scatter .scatter g').getAttribute('transform'));
  const start = await plane(), middle = await page.spot('#places-scatter .scatter');
  await page.mouse('mousePressed', middle);
  await page.mouse('mouseMoved', { x: middle.x + 60, y: middle.y + 20 });
  await page.mouse('mouseReleased', { x: middle.x + 60, y: middle.y + 20 });
  const moved = await plane();
  assert.notEqual(moved, start);
  for (const key of ['+', 'ArrowLeft']) await page.press(key);
  assert.notEqual(await plane(), moved);
  await page.press('0');
  assert.equal(await plane(), start);
  await page.send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...middle, deltaX: 0, deltaY: -200 });
  await page.until('the wheel', (before) => document.querySelector('#places-scatter .scatter g').getAttribute('transform') !== before, start);
}

async function drive(page) {
  await page.view('drive');
  await page.choose('label:has(#drive-files)', [...frames.slice(0, 15), join(folder, 'text.jpg'), ...frames.slice(15)]);
  await page.until('the drive', () => document.querySelector('#drive-message.good') && document.querySelector('#drive-stop').hidden);
  assert.match(await text(page, '#drive-failures'), /^text\.jpg: .*(picture|image|format)/i);
  const shown = await page.evaluate(() => [...document.querySelectorAll('#frames li')].map((item) => ({ loop: item.classList.contains('is-loop'), spoken: item.firstChild.ariaLabel })));
  assert.equal(shown.length, 30);
  assert.equal(shown.slice(0, 20).filter((frame) => frame.loop).length, 0);
  const closed = shown.flatMap((frame, i) => (frame.loop ? [{ from: i, to: Number(frame.spoken.match(/with frame (\d+)/)[1]) - 1 }] : []));
  assert.ok(closed.length >= 4, `${closed.length} loops`);
  for (const { from, to } of closed) assert.ok(Math.abs(from - 20 - to) <= 1, `frame ${from} closes with ${to}`);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#strip .arc').length), closed.length);
  await page.click(`#frames li:nth-child(${closed[0].from + 1}) button`);
  await page.until('the pair', () => document.querySelector('#now-match.loop') && document.querySelector('#now-place').naturalWidth > 0);
  await page.looked('drive');
}

async function camera(page) {
  await page.view('find');
  await page.evaluate(() => document.querySelector('#answers').replaceChildren());
  await page.click('#find-camera');
  await page.until('the camera', () => !document.querySelector('#find-video').hidden && document.querySelector('#find-video').videoWidth > 0);
  await page.click('#find-shoot');
  await answers(page);
  assert.equal(await page.evaluate(() => document.querySelector('#find-video').srcObject), null);
  await page.view('drive');
  await page.click('#drive-clear');
  await page.click('#drive-camera');
  await page.until('two frames', () => document.querySelectorAll('#frames li').length >= 2);
  await page.click('#drive-stop');
  await page.until('the end', () => document.querySelector('#drive-stop').hidden);
}

/** Every control of a view is reached by Tab alone, each with a ring that shows. */
async function walkByKeys(page) {
  const reached = async () => page.evaluate(() => {
    const element = document.activeElement, ring = getComputedStyle(element.closest('.button') ?? element);
    return { id: element.id || (element.matches('.brand') ? 'brand' : element.getAttribute('href')) || element.title || element.tagName, ring: ring.outlineStyle !== 'none' && parseFloat(ring.outlineWidth) >= 2 };
  });
  const walk = async (most) => {
    const seen = [];
    for (let i = 0; i < most; ++i) {
      await page.press('Tab');
      const { id, ring } = await reached();
      if (id === 'BODY' || seen.includes(id)) break;
      assert.ok(ring, `no ring around ${id}`);
      seen.push(id);
    }
    return seen;
  };
  await page.evaluate(() => { document.body.tabIndex = -1; document.body.focus(); });
  const seen = await walk(60);
  for (const id of ['#main', '#find', '#places', '#drive', 'map', 'token-button', 'theme', 'find-file', 'find-camera', 'patches-most', 'add-name', 'add-kind']) {
    assert.ok(seen.includes(id), `${id} is not reached: ${seen.join(' ')}`);
  }
  assert.equal(seen[0], '#main');
  // The theme by the space bar, a view by Enter, the answers by Enter.
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.evaluate(() => document.querySelector('#theme').focus());
  await page.press(' ');
  assert.notEqual(await background(), light);
  await page.press(' ');
  assert.equal(await background(), light);
  await page.evaluate(() => document.querySelector('#answers li:nth-child(3) button').focus());
  await page.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-pressed')), 'true');
  await page.evaluate(() => document.querySelector('nav a[href="#places"]').focus());
  await page.press('Enter');
  await page.until('the places', () => !document.querySelector('#places').hidden && document.querySelectorAll('#places-list button').length === 20);
}

/** Of two maps chosen one after the other the last one stays, though the first one's answer comes later. */
async function chooseTwice(page) {
  await page.evaluate(() => {
    const asked = window.fetch, map = document.querySelector('#map');
    const late = new Promise((accept) => { window.answerLate = accept; });
    window.fetch = async (address, ...rest) => {
      const answer = await asked(address, ...rest);
      if (!String(address).includes('another')) return answer;
      await late;
      window.fetch = asked;
      return answer;
    };
    const choose = (name) => { map.value = name; map.dispatchEvent(new Event('change')); };
    choose('another');
    choose('street');
    document.querySelector('#find-lead').textContent = '';
  });
  const lead = () => document.querySelector('#find-lead').textContent.includes('street');
  await page.until('the last map', lead);
  await page.evaluate(async () => { window.answerLate(); await new Promise((accept) => setTimeout(accept, 100)); });
  assert.ok(await page.evaluate(lead), 'the last map stays');
}

async function wholeVisit() {
  const page = await openPage(desktop, 'light', 3);
  await giveToken(page);
  await chooseTwice(page);
  await page.looked('start');
  await findPlaces(page);
  await refuseText(page);
  await addAndRemove(page);
  await moveMap(page);
  await drive(page);
  await camera(page);
  await page.done();
}

/** The same views elsewhere: nothing past the edge, everything legible. */
async function glance(screen, scheme, keys) {
  const page = await openPage(screen, scheme, 1);
  await giveToken(page);
  await page.looked('start');
  await ask(page, queries[5]);
  await page.until('lines', () => document.querySelectorAll('#patches .link').length > 0 && document.querySelector('#find-scatter .mark'));
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
  await page.looked('find');
  if (keys) await walkByKeys(page);
  await page.view('places');
  await page.until('the places', () => document.querySelectorAll('#places-list button').length === 20);
  await page.click('#places-list li:nth-child(3) button');
  await page.until('its picture', () => document.querySelector('#place-picture').naturalWidth > 0);
  await page.looked('places');
  await page.view('drive');
  await page.choose('label:has(#drive-files)', frames.slice(0, 3));
  await page.until('three frames', () => document.querySelectorAll('#frames li').length === 3 && document.querySelector('#drive-message.good'));
  await page.looked('drive');
  await page.done();
}

try {
  await wholeVisit();
  await glance(desktop, 'dark', true);
  await glance(phone, 'light', false);
  await glance(phone, 'dark', false);
  assert.deepEqual(faults, []);
  console.log('the page is fine on a phone and a desktop, light and dark');
} catch (error) {
  console.log(error.message, error.stack?.split('\n').filter((line) => line.includes('page_test')).slice(0, 4).join('\n'));
  faults.forEach((fault) => console.log(fault));
  process.exitCode = 1;
}
await browser.close();
