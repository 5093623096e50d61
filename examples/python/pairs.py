#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which pictures a structure from motion should match: pairs.py FOLDER OUT

Writes OUT/global-feats.h5, as hloc reads it (/<name>/global_descriptor), and OUT/pairs.txt, "name name" lines for
hloc and for `colmap matches_importer --match_type pairs`. Names are relative to FOLDER, COLMAP's --image_path."""
import argparse
from pathlib import Path

import ria


def pairs(recognizer, described, k):
    """Each picture with the k most alike; of a pair that is found twice, one."""
    places = recognizer.map(described)
    numbers, _ = recognizer.search(places, described, k + 1)
    found = {tuple(sorted((i, int(j)))) for i, row in enumerate(numbers) for j in row if j not in (i, -1)}
    return sorted((described.names[i], described.names[j]) for i, j in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--method", default="resnet50-ria")
    parser.add_argument("-k", type=int, default=20, help="pairs of a picture")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    recognizer = ria.Recognizer(arguments.method)
    pictures = ria.list_pictures(arguments.folder)
    recognizer.fit(pictures)
    described = recognizer.finish(recognizer.describe(pictures, relative_to=arguments.folder)).without_failures()
    ria.save_descriptors(arguments.out / "global-feats.h5", described, recognizer.header)
    chosen = pairs(recognizer, described, arguments.k)
    (arguments.out / "pairs.txt").write_text("".join(f"{a} {b}\n" for a, b in chosen))
    print(f"{len(described)} pictures, {len(chosen)} pairs")


if __name__ == "__main__":
    main()
