// SPDX-License-Identifier: MIT
// Pages of the site in Chromium, on a small phone and a desktop, light and dark, and what the keyboard does:
// browser_test.mjs SITE PROFILE [SCREENSHOTS].
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from '../support/browser.mjs';
import { leastContrast, pastTheEdge, unnamed } from '../serve/page_checks.mjs';

const [folder, profile, screenshots] = [resolve(process.argv[2]), process.argv[3], process.argv[4]];
const screens = [
  { name: 'phone', width: 360, height: 780, mobile: true },
  { name: 'desktop', width: 1280, height: 900, mobile: false },
];
// Every page on the phone, where something may be too wide; those of each kind everywhere.
const ofEachKind = ['index.html', 'guide.html', 'robots.html', 'ria-eval.html', 'cpp-map.html', 'python-reference.html', 'names.html'];
const all = readdirSync(folder).filter((name) => name.endsWith('.html'));
const problems = [];
const complain = (what) => problems.push(what);
const browser = launch(profile);

async function open(file, screen, scheme) {
  const page = await browser.newPage(screen, scheme), label = `${file} on a ${screen.name}, ${scheme}`;
  page.watch({
    onmessage: (text) => complain(`${label}: ${text}`),
    onrequest: (url) => { if (!url.startsWith(pathToFileURL(folder).href)) complain(`${label}: loads ${url}`); },
  });
  await page.open(pathToFileURL(join(folder, file)).href);
  return { page, label };
}

async function check(file, screen, scheme) {
  const { page, label } = await open(file, screen, scheme);
  for (const outside of (await page.evaluate(pastTheEdge)).slice(0, 5)) complain(`${label}: past the edge: ${outside}`);
  for (const one of await page.evaluate(unnamed)) complain(`${label}: no name: ${one}`);
  const { ratio, what } = await page.evaluate(leastContrast);
  if (ratio < 4.5) complain(`${label}: contrast ${ratio.toFixed(2)} of ${what}`);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (screenshots && ofEachKind.includes(file)) await page.screenshot(join(screenshots, `docs_${file.replace('.html', '')}_${screen.name}_${scheme}.jpg`));
  await page.close();
  return ground;
}

// The contents are beside the text on a desktop; on a phone a key opens and closes them.
async function contents() {
  const shown = () => document.querySelector('nav').checkVisibility();
  const desktop = await open('guide.html', screens[1], 'light');
  if (!await desktop.page.evaluate(shown)) complain(`${desktop.label}: no contents`);
  await desktop.page.close();
  const { page, label } = await open('guide.html', screens[0], 'dark');
  if (await page.evaluate(shown)) complain(`${label}: the contents cover the text`);
  await page.evaluate(() => document.querySelector('header button').focus());
  await page.press('Enter');
  await page.until('the contents', shown);
  const { ratio, what } = await page.evaluate(leastContrast);
  if (ratio < 4.5) complain(`${label}: contrast ${ratio.toFixed(2)} of ${what}`);
  for (const outside of await page.evaluate(pastTheEdge)) complain(`${label}: contents past the edge: ${outside}`);
  if (screenshots) await page.screenshot(join(screenshots, 'docs_contents_phone_dark.jpg'));
  await page.press('Escape');
  await page.until('the text', () => !document.querySelector('nav').checkVisibility());
  await page.press('Tab');
  await page.close();
}

try {
  for (const file of all) await check(file, screens[0], 'light');
  for (const file of ofEachKind) {
    const light = await check(file, screens[1], 'light'), dark = await check(file, screens[1], 'dark');
    await check(file, screens[0], 'dark');
    if (light === dark) complain(`${file}: ${light} behind both the light and the dark page`);
  }
  await contents();
} catch (error) {
  complain(error.message);
}
problems.forEach((problem) => console.log(problem));
console.log(problems.length === 0 ? `${all.length} pages are fine on a phone and a desktop` : `${problems.length} problems`);
await browser.close();
process.exitCode = problems.length === 0 ? 0 : 1;
