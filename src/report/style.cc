// SPDX-License-Identifier: MIT
#include "report/style.h"

namespace ria {

std::string_view page_style() {
  return R"css(
:root { color-scheme: light dark;
  --page: #f6f8fa; --card: #ffffff; --text: #1f2328; --muted: #59636e; --line: #d8dee4;
  --accent: #0b62c4; --best: #eaf3ff; --right: #1a7f37; --wrong: #cf222e;
  --missed: #f2c36b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1318; --card: #171c23; --text: #e6edf3; --muted: #9da7b3; --line: #313944;
    --accent: #6cb2ff; --best: #17304d; --right: #3fb950; --wrong: #ff6b63;
    --missed: #c9922e; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.25rem 1rem 3rem; max-width: 76rem; background: var(--page);
  overflow-wrap: break-word; color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { margin: 0 0 .5rem; font-size: 1.6rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.25rem 0 .75rem; font-size: 1.2rem; }
h3 { margin: 1.25rem 0 .4rem; font-size: 1rem; }
p { margin: .4rem 0; }
.lead { font-size: 1.1rem; max-width: 46rem; }
.note { color: var(--muted); font-size: .875rem; max-width: 46rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .5rem .75rem; text-align: right; white-space: nowrap;
  border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--muted); font-size: .8125rem; font-weight: 600;
  white-space: normal; line-height: 1.25; vertical-align: bottom; }
thead th.text { text-align: left; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--card); }
tbody th { font-weight: 500; white-space: normal; overflow-wrap: anywhere; min-width: 11rem;
  max-width: 26rem; line-height: 1.3; }
td.best { background: var(--best); font-weight: 700; }
td.text { white-space: normal; text-align: left; min-width: 11rem; font-size: .875rem; }
td small { display: block; color: var(--muted); font-size: .75rem; font-weight: 400;
  line-height: 1.2; }
.plot { margin-top: 1rem; padding: 1.1rem 1.25rem .75rem; }
.plot figcaption { font-size: .9375rem; font-weight: 600; }
.plot-narrow { display: none; }

.notes { margin: 0; padding-left: 1.2rem; max-width: 52rem; font-size: .9375rem; }
.notes li { margin: .25rem 0; overflow-wrap: anywhere; }

/* Maps and matrices side by side. */
.gallery { display: grid; gap: 1rem; margin-top: .75rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); }
.gallery.maps { grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); }
.pane { padding: .8rem .9rem; }
.pane figcaption { margin-bottom: .5rem; font-size: .875rem; font-weight: 600;
  overflow-wrap: anywhere; }
.pane figcaption span { color: var(--muted); font-weight: 400; }
.pair { display: grid; gap: .4rem; grid-template-columns: repeat(2, minmax(0, 1fr)); }
.pair figcaption { grid-column: 1 / -1; margin: 0; }
.pair .name { font-size: .75rem; color: var(--muted); }
.key { white-space: nowrap; margin-right: .6rem; }
.key.hit { color: var(--right); } .key.miss { color: var(--wrong); }
.key.other { color: var(--accent); }
.key.missed { text-decoration: underline 4px var(--missed); }
.matrix { display: block; width: 100%; aspect-ratio: 1; background: var(--page);
  border: 1px solid var(--line); shape-rendering: crispEdges; }
.matrix path { fill: none; stroke-width: 1; }
.matrix .missed { stroke: var(--missed); }
.matrix .other { stroke: var(--accent); } .matrix .hit { stroke: var(--right); }
.matrix .l0 { stroke-opacity: .25; } .matrix .l1 { stroke-opacity: .38; }
.matrix .l2 { stroke-opacity: .52; } .matrix .l3 { stroke-opacity: .67; }
.matrix .l4 { stroke-opacity: .83; }
.map path { fill: none; stroke-linecap: round; }
.map .places { stroke: var(--chart-axis); stroke-width: 2; opacity: .6; }
.map .right { stroke: var(--right); } .map .wrong { stroke: var(--wrong); }
.map .to { opacity: .55; } .map .to.wrong { stroke-dasharray: 4 3; }
.map .dot { stroke-width: 5.5; } .map .cross { stroke-width: 1.8; }
.chart.heat { max-width: none; }
.chart .cell { fill: var(--page); stroke: none; }
.heat-scale { display: flex; gap: .6rem; align-items: center; margin-top: .6rem;
  color: var(--muted); font-size: .8125rem; }
.heat-scale svg { width: 12rem; height: .8rem; border-radius: 3px; }

/* The filter: the radio buttons stand before the cards. */
#answers > input { position: absolute; opacity: 0; }
#answers > label { display: inline-block; margin: .5rem .4rem .75rem 0; padding: .4rem .9rem;
  border: 1px solid var(--line); border-radius: 99px; background: var(--card); font-size: .875rem;
  cursor: pointer; }
#answers > input:checked + label { border-color: var(--accent); color: var(--accent);
  box-shadow: inset 0 0 0 1px var(--accent); font-weight: 600; }
#answers > input:focus-visible + label { outline: 3px solid var(--accent); outline-offset: 2px; }
#answers > input:disabled + label { opacity: .5; cursor: default; }
#show-wrong:checked ~ .queries .row-right, #show-wrong:checked ~ .queries .all-right {
  display: none; }

.store { position: absolute; }
.queries { display: grid; gap: 1rem; align-items: start;
  --least: min(100%, calc((var(--top) + 1) * 8.5rem));
  grid-template-columns: repeat(auto-fill, minmax(var(--least), 1fr)); }
.query { display: grid; gap: 1rem; padding: .9rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; break-inside: avoid;
  grid-template-columns: minmax(0, 1.35fr) repeat(var(--top), minmax(0, 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .75rem; line-height: 1.35; }
.asked figcaption { margin-bottom: .3rem; }
.asked .picture, .asked .missing { border-radius: 6px; }
.asked b { font-size: .875rem; }
.rows { grid-column: 2 / -1; display: grid; gap: .8rem; min-width: 0; }
.row h4 { margin: 0 0 .3rem; font-size: .875rem; font-weight: 600; line-height: 1.35;
  overflow-wrap: anywhere; }
.row h4 span { margin-left: .35rem; font-size: .75rem; font-weight: 500; }
.row-right h4 span { color: var(--right); }
.row-wrong h4 span { color: var(--wrong); }
.answers { display: grid; gap: .5rem; grid-template-columns: repeat(var(--top), minmax(0, 1fr)); }
.picture { display: block; width: 100%; height: auto; max-height: 16rem; }
.answer .picture, .answer .missing { border-radius: 6px; border: 3px solid var(--frame);
  margin-bottom: .2rem; }
.answer.right { --frame: var(--right); }
.answer.wrong { --frame: var(--wrong); }
.answer.wrong .picture, .answer.wrong .missing { border-style: dashed; }
.answer b { color: var(--frame); white-space: nowrap; }
.score { color: var(--muted); font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
  overflow: hidden; overflow-wrap: anywhere; color: var(--muted); }
.missing { display: grid; place-content: center; aspect-ratio: 16 / 9; font-size: .75rem;
  text-align: center; color: var(--muted); background: var(--page); }

pre, code { font: .8125rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { margin: 0; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem 1rem; margin: 0;
  padding: .75rem 1rem; font-size: .9375rem; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
details { margin-top: .5rem; }
summary { padding: .6rem 1rem; cursor: pointer; font-weight: 500; overflow-wrap: anywhere; }
details > :not(summary) { border-top: 1px solid var(--line); }
details > .card { border-width: 1px 0 0; border-radius: 0; }
.failures { margin: 0; padding: .75rem 1rem .75rem 2rem; font-size: .875rem; }
.failures li { overflow-wrap: anywhere; }

@media (max-width: 40rem) {
  body { padding: 1rem .75rem 2rem; }
  th, td { padding: .45rem .3rem; font-size: .8125rem; }
  th:first-child { padding-left: .6rem; }
  tbody th { min-width: 7.2rem; max-width: 8.5rem; }
  td.text { min-width: 7rem; font-size: .8125rem; line-height: 1.3; }
  td small { font-size: .6875rem; }
  thead th { font-size: .75rem; }
  .plot { padding: .9rem .75rem .5rem; }
  .plot-wide { display: none; }
  .plot-narrow { display: block; }
  .query { grid-template-columns: minmax(0, 1fr); gap: .75rem; }
  .asked { display: grid; grid-template-columns: 3fr 2fr; gap: .75rem; }
  .asked figcaption { grid-column: 2; grid-row: 1; }
  .asked .picture, .asked .missing { grid-column: 1; grid-row: 1; }
  .rows { grid-column: 1; }
  .answers { grid-template-columns: repeat(min(var(--top), 3), minmax(0, 1fr)); }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .5rem; }
}
@media print { #answers > label { display: none; } }
)css";
}

}  // namespace ria
