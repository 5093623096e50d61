# SPDX-License-Identifier: MIT
"""Time, memory and recall of a search over the number of places, as docs/scale.svg: of files that
`ria_bench --only approximate --places N --json FILE` has written.

    python3 bench/plot_scale.py FILE... > docs/scale.svg"""
import json
import math
import sys

KINDS = {"exact": "#8a8f98", "ivfpq": "#2f6fed", "hnsw": "#d9822b"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 200, 58, 40, 80


def points(runs, kind, what):
    """Of each run that has it: places, value."""
    for run in runs:
        places = run["search_places"]
        if kind == "exact":
            value = {"ms": run.get(f"search_exact_int8_ms_at_{places:.0f}"), "bytes": places * 2084.0}.get(what)
        else:
            value = run.get(f"search_{kind}_{ {'ms': 'ms', 'bytes': 'resident_bytes', 'recall': 'recall_at_1'}[what] }")
        if value is not None:
            yield places, value


def shown(value, unit):
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit == "B" and value >= size:
            return f"{value / size:g} {prefix}B"
    return f"{value:g}{' ' if unit else ''}{unit}"


def panel(runs, at, title, what, ticks, unit, logarithmic):
    scale = math.log10 if logarithmic else float
    low, high = scale(ticks[0]), scale(ticks[-1])
    x = lambda places: at + (math.log10(places) - 4) / 3 * WIDTH
    y = lambda value: TOP + HEIGHT * (1 - (min(max(scale(value), low), high) - low) / (high - low))
    out = [f'<text x="{at}" y="{TOP - 16}" class="title">{title}</text>']
    for tick in ticks:
        out.append(f'<path class="grid" d="M{at} {y(tick):.1f}h{WIDTH}"/><text x="{at - 6}" y="{y(tick) + 4:.1f}" class="end">{shown(tick, unit)}</text>')
    for power in range(4, 8):
        out.append(f'<text x="{x(10 ** power):.1f}" y="{TOP + HEIGHT + 18}" class="middle">10<tspan dy="-4" font-size="8">{power}</tspan></text>')
    for kind, colour in KINDS.items():
        line = sorted(points(runs, kind, what))
        if not line:
            continue
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{x(p):.1f},{y(v):.1f}" for p, v in line)}"/>')
        out += [f'<circle cx="{x(p):.1f}" cy="{y(v):.1f}" r="3.5" fill="{colour}"><title>{kind}, {p:.0f} places: {v:.4g} {unit}</title></circle>' for p, v in line]
    return out


def main():
    runs = [json.load(open(file)) for file in sys.argv[1:]]
    full = 3 * (WIDTH + GAP) + LEFT - GAP + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full} {TOP + HEIGHT + 60}" font-family="sans-serif" font-size="11" role="img">',
           '<title>Time, memory and recall of a search over the number of places</title>',
           '<style>text{fill:#444}.title{font-weight:bold;font-size:13px}.end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#ccc;stroke-width:.6}',
           '@media(prefers-color-scheme:dark){text{fill:#ccc}.grid{stroke:#555}}</style>']
    out += panel(runs, LEFT, "a query on 2 cores", "ms", [0.1, 1, 10, 100, 1000], "ms", True)
    out += panel(runs, LEFT + WIDTH + GAP, "resident memory", "bytes", [1e6, 1e7, 1e8, 1e9, 1e10, 1e11], "B", True)
    out += panel(runs, LEFT + 2 * (WIDTH + GAP), "share of exact search's answers", "recall", [0.7, 0.8, 0.9, 1], "", False)
    for i, (kind, colour) in enumerate(KINDS.items()):
        out.append(f'<circle cx="{LEFT + 5 + 90 * i}" cy="{TOP + HEIGHT + 42}" r="4" fill="{colour}"/><text x="{LEFT + 14 + 90 * i}" y="{TOP + HEIGHT + 46}">{kind}</text>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
