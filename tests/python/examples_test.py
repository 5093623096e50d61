# SPDX-License-Identifier: MIT
"""The examples, and that others read what they write: h5py, and COLMAP where it is installed."""
import json
import os
import shutil
import sqlite3
import subprocess
import unittest

import numpy as np

from support import FOLDER, example, ria, street

try:
    import h5py
except ImportError:
    h5py = None


class Examples(unittest.TestCase):
    def test_table(self):
        database, queries = street()
        dataset = ria.load_folders(database, queries)
        folder = FOLDER / "sets" / "mine"
        folder.mkdir(parents=True)
        truth = {"database": dataset.database, "queries": dataset.queries, "positives": dataset.positives}
        (folder / "gt_night.json").write_text(json.dumps(truth, default=str))
        printed = example("table.py", FOLDER / "sets", "mine", "--method", "rootsift-ria", "--method", "rootsift-gem").splitlines()
        recalls = [e.recall for e in ria.evaluate(dataset, ["rootsift-ria", "rootsift-gem"])]
        self.assertEqual(len(printed), 3)
        self.assertTrue(printed[2].startswith("| mine night | 8 / 8 |"))
        self.assertEqual(printed[2].replace("*", "").split(" | ")[2:], [f"{r[1]:.1f} / {r[5]:.1f}" for r in recalls[:1]] + [f"{recalls[1][1]:.1f} / {recalls[1][5]:.1f} |"])

    def pairs(self):
        """The street as one folder of short names, and what the example makes of it."""
        pictures, out = FOLDER / "pictures", FOLDER / "out"
        if not out.exists():
            pictures.mkdir()
            for i, picture in enumerate(ria.list_pictures(street()[0])):
                shutil.copy(picture, pictures / f"{i:02}.jpg")
            example("pairs.py", pictures, out, "--method", "rootsift-ria", "-k", 2)
        return pictures, out

    @unittest.skipUnless(h5py, "no h5py")
    def test_h5py_reads_global_descriptors(self):
        pictures, out = self.pairs()
        recognizer = ria.Recognizer("rootsift-ria")
        with h5py.File(out / "global-feats.h5") as file:
            self.assertEqual(sorted(file), sorted(p.name for p in pictures.iterdir()))
            for name in file:
                np.testing.assert_array_equal(file[name]["global_descriptor"][()], recognizer.describe(pictures / name))

    def test_pairs_are_neighbours(self):
        lines = (self.pairs()[1] / "pairs.txt").read_text().splitlines()
        self.assertEqual(len(lines), len(set(lines)))
        self.assertTrue(8 <= len(lines) <= 16)
        for line in lines:
            self.assertNotEqual(*line.split())

    @unittest.skipUnless(shutil.which("colmap"), "no colmap")
    def test_colmap_imports_the_pairs(self):
        pictures, out = self.pairs()
        database = out / "colmap.db"
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}

        def colmap(*arguments):
            subprocess.run(["colmap", *map(str, arguments)], check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        colmap("feature_extractor", "--database_path", database, "--image_path", pictures, "--SiftExtraction.use_gpu", 0, "--SiftExtraction.num_threads", 2)
        colmap("matches_importer", "--database_path", database, "--match_list_path", out / "pairs.txt", "--match_type", "pairs", "--SiftMatching.use_gpu", 0, "--SiftMatching.num_threads", 2)
        with sqlite3.connect(database) as rows:
            names = dict(rows.execute("select image_id, name from images"))
            found = {tuple(sorted((names[i // 2147483647], names[i % 2147483647]))) for (i,) in rows.execute("select pair_id from matches")}
        expected = {tuple(sorted(line.split())) for line in (out / "pairs.txt").read_text().splitlines()}
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
