// SPDX-License-Identifier: MIT
// Opens every FOLDER/*/index.html in Chromium, driven over its debugging pipe, at the width of a phone
// and of a desktop, those that have everything also in the dark: browser_test.mjs FOLDER [SCREENSHOTS].
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from '../support/browser.mjs';

const folder = resolve(process.argv[2]);
const screenshots = process.argv[3];
const screens = [
  { name: 'phone', width: 390, height: 844, mobile: true },
  { name: 'desktop', width: 1280, height: 900, mobile: false },
];
// Pages that have everything a page can have; others may lack some of it.
const madeUp = ['report/index.html', 'study/index.html'];
const training = 'training/index.html';
const pages = readdirSync(folder).map((name) => `${name}/index.html`).filter((file) => existsSync(join(folder, file)));
const problems = [];
const complain = (what) => problems.push(what);

const browser = launch(join(folder, 'profile'));

async function openPage(file, screen, scheme) {
  const page = await browser.newPage(screen, scheme);
  const label = `${file} on a ${screen.name}, ${scheme}`, address = pathToFileURL(join(folder, file)).href;
  page.watch({
    onmessage: (text) => complain(`${label}: ${text}`),
    onrequest: (url) => { if (!url.startsWith('data:') && url !== address) complain(`${label}: loads ${url}`); },
  });
  await page.open(address);
  return { page, label };
}

// What the page says about itself; run inside it.
function inspect() {
  const root = document.documentElement;
  const visible = (element) => element.checkVisibility();
  const shown = (selector) => [...document.querySelectorAll(selector)].filter(visible).length;
  const inScroller = (element) => element.closest('.scroll') !== null;
  const tooWide = [...document.body.querySelectorAll('*')].filter((element) => visible(element) && !inScroller(element) &&
    element.getBoundingClientRect().right > root.clientWidth + 1).map((element) => element.tagName + '.' + element.className);
  const rows = shown('.row');
  document.getElementById('show-wrong')?.click();
  const filtered = { right: shown('.row-right'), wrong: shown('.row-wrong') };
  document.getElementById('show-all')?.click();
  const svgText = [...document.querySelectorAll('svg.chart text')].filter(visible);
  const letters = svgText.map((text) => text.getBoundingClientRect().height);
  return {
    width: root.clientWidth, scrollWidth: root.scrollWidth, tooWide: tooWide.slice(0, 5), rows, filtered,
    charts: shown('svg.chart:not(.sample)'), tables: shown('table'), cells: shown('rect.cell'),
    pictures: shown('svg.picture'), smallest: letters.length === 0 ? 99 : Math.min(...letters), background: getComputedStyle(document.body).backgroundColor,
  };
}

async function check(file, screen, scheme) {
  const { page, label } = await openPage(file, screen, scheme);
  const seen = await page.evaluate(inspect);
  if (seen.width !== screen.width) complain(`${label}: ${seen.width} pixels wide, not ${screen.width}`);
  if (seen.scrollWidth > seen.width) complain(`${label}: ${seen.scrollWidth} pixels wide, the screen has ${seen.width}`);
  if (seen.tooWide.length > 0) complain(`${label}: past the right edge: ${seen.tooWide.join(' ')}`);
  if (seen.tables === 0) complain(`${label}: no table`);
  if (seen.filtered.right !== 0) complain(`${label}: the filter leaves ${JSON.stringify(seen.filtered)}`);
  if (madeUp.includes(file)) {
    if (seen.rows === 0 || seen.pictures === 0) complain(`${label}: no rows of pictures`);
    if (seen.filtered.wrong === 0) complain(`${label}: the filter leaves nothing`);
    if (seen.charts === 0 || seen.tables < 3) complain(`${label}: ${seen.charts} charts, ${seen.tables} tables`);
  }
  if (file === training && (seen.charts < 3 || seen.pictures < 20)) {
    complain(`${label}: ${seen.charts} charts, ${seen.pictures} pictures`);
  }
  if (['study/index.html', 'tau-eps/index.html'].includes(file) && seen.cells !== 36) {
    complain(`${label}: ${seen.cells} cells of the heat map, not 36`);
  }
  if (seen.smallest < 9) complain(`${label}: letters only ${seen.smallest} pixels high`);
  if (screenshots) await page.screenshot(join(screenshots, `${file.split('/')[0]}_${screen.name}_${scheme}.jpg`));
  await page.close();
  return seen.background;
}

try {
  if (pages.length === 0) complain(`${folder}: no pages`);
  for (const file of pages) {
    for (const screen of screens) {
      const light = await check(file, screen, 'light');
      if (!madeUp.includes(file) && file !== training) continue;
      const dark = await check(file, screen, 'dark');
      if (light === dark) complain(`${file}: ${light} behind both the light and the dark page`);
    }
  }
} catch (error) {
  complain(error.message);
}
problems.forEach((problem) => console.log(problem));
console.log(problems.length === 0 ? `${pages.length} pages are fine on a phone and a desktop` : `${problems.length} problems`);
await browser.close();
process.exitCode = problems.length === 0 ? 0 : 1;
