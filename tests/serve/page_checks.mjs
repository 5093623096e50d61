// SPDX-License-Identifier: MIT
// What can be wrong with a page as it stands; each function is run inside it.

/** What is wider than the screen, unless it is scrolled by itself. */
export function pastTheEdge() {
  const width = document.documentElement.clientWidth;
  const outside = [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility() && !element.closest('.scroll, .unseen, svg, .skip') &&
    (element.getBoundingClientRect().right > width + 1 || element.getBoundingClientRect().left < -1)).map((element) => `${element.tagName}#${element.id}`);
  if (document.documentElement.scrollWidth > width) outside.push(`the page: ${document.documentElement.scrollWidth} of ${width}`);
  return outside;
}

/** Controls that have no words for a screen reader, and pictures without an alternative. */
export function unnamed() {
  const name = (element) => element.ariaLabel || element.textContent.trim() || element.title || [...(element.labels ?? [])].map((label) => label.textContent.trim()).join('');
  return [...document.querySelectorAll('button, a, input, select, img:not([alt]), svg[tabindex]')].filter((element) => element.checkVisibility() && !name(element))
    .map((element) => element.outerHTML.slice(0, 80));
}

/** The least contrast of a text with what is behind it (WCAG 2): {ratio, what}. */
export function leastContrast() {
  // A mixed colour is told as color(srgb 0.1 0.2 0.3), others as rgb(25, 51, 76).
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+(e-\d+)?/g).map(Number), scale = color.startsWith('color(') ? 255 : 1;
    return { rgb: [r, g, b].map((value) => value * scale), a };
  };
  const over = (top, below) => top.rgb.map((value, i) => value * top.a + below[i] * (1 - top.a));
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      layers.push(parse(getComputedStyle(one).backgroundColor));
      if (layers.at(-1).a === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let worst = { ratio: 21, what: 'nothing' };
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
    const field = element.matches('input:not([type="file"], [type="range"], [type="checkbox"]), select');
    if ((!own && !field) || !element.checkVisibility() || element.closest('.unseen, .skip, title, option, :disabled')) continue;
    const svg = element.namespaceURI.endsWith('svg'), style = getComputedStyle(element);
    // A number on a mark stands on the mark's own circle.
    const circle = svg && element.closest('.mark')?.querySelector('circle');
    const ground = circle ? parse(getComputedStyle(circle).fill).rgb : behind(svg ? element.closest('svg').parentElement : element);
    const ink = parse(svg ? style.fill : style.color);
    const [a, b] = [luminance(over(ink, ground)), luminance(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst.ratio) worst = { ratio, what: `${element.tagName}.${element.getAttribute('class') ?? ''} "${element.textContent.slice(0, 30)}"` };
  }
  return worst;
}
