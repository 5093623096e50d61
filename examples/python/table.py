#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README's table of results: table.py DATA_FOLDER [SET...]

R@1 / R@5 in percent of every SET/gt*.json below the folder (or of the sets that are named), best R@1 in bold."""
import argparse
from pathlib import Path

import ria

METHODS = ["resnet50-mean", "resnet50-gem", "resnet50-vlad", "resnet50-ria", "resnet50-riax", "resnet50-riax:rerank=patches"]


def row(dataset, evaluations):
    best = max(e.recall[1] for e in evaluations)
    cells = [f"**{e.recall[1]:.1f}**" if e.recall[1] == best else f"{e.recall[1]:.1f}" for e in evaluations]
    answers = [f"{cell} / {e.recall[5]:.1f}" for cell, e in zip(cells, evaluations)]
    return [dataset.name, f"{len(dataset.queries)} / {len(dataset.database)}", *answers]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_folder", type=Path)
    parser.add_argument("sets", nargs="*", help="folders of sets, as corridor; default: all")
    parser.add_argument("--method", action="append", help="instead of the README's; several times")
    arguments = parser.parse_args()
    methods = arguments.method or METHODS
    files = sorted(f for f in arguments.data_folder.glob("*/gt*.json") if not arguments.sets or f.parent.name in arguments.sets)
    print(line(["set", "queries / places", *methods]))
    print(line(["---"] * (len(methods) + 2)))
    for file in files:
        dataset = ria.load_ground_truth(file)
        dataset.name = file.parent.name + file.stem[2:].replace("_", " ")
        print(line(row(dataset, ria.evaluate(dataset, methods, seed=42))), flush=True)


if __name__ == "__main__":
    main()
