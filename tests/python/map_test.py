# SPDX-License-Identifier: MIT
"""Maps, loops and evaluations say in Python what they say elsewhere."""
import json
import unittest

import numpy as np

from support import FOLDER, program, ria, street


class Maps(unittest.TestCase):
    def setUp(self):
        self.rows = np.random.default_rng(1).normal(size=(50, 16)).astype(np.float32)
        self.rows /= np.linalg.norm(self.rows, axis=1, keepdims=True)
        self.map = ria.Map(ria.MapHeader(dim=16))
        self.map.add(self.rows, [f"p{i}" for i in range(50)])

    def test_search_is_brute_force(self):
        queries = self.rows[:7] + np.float32(0.1)
        places, scores = self.map.search(queries, 4)
        cosines = queries / np.linalg.norm(queries, axis=1, keepdims=True) @ self.rows.T
        np.testing.assert_array_equal(places, np.argsort(-cosines)[:, :4])
        one, score = self.map.search(queries[2], 4)
        np.testing.assert_array_equal(one, places[2])
        np.testing.assert_array_equal(score, scores[2])
        even = self.map.search(queries, 4, before=40, allowed=lambda place: place % 2 == 0)[0]
        self.assertTrue((even % 2 == 0).all() and (even < 40).all())
        few, nothing = self.map.search(queries, 60, before=3)
        self.assertEqual(few.shape, (7, 3))
        self.assertEqual(nothing.dtype, np.float32)

    def test_any_numbers_are_floats(self):
        expected = self.map.search(self.rows[:2])[0]
        for rows in [self.rows[:2].astype(float), np.asfortranarray(self.rows[:2]), self.rows.astype(np.float16)[:2]]:
            np.testing.assert_array_equal(self.map.search(rows)[0][:, 0], expected[:, 0])
        with self.assertRaises(ValueError):
            self.map.search(self.rows[:, :3])
        with self.assertRaises(ValueError):
            self.map.search(self.rows[None])
        with self.assertRaises(TypeError):
            self.map.search(np.array(["a"]))
        with self.assertRaises(ZeroDivisionError):
            self.map.search(self.rows, allowed=lambda place: 1 / 0)

    def test_a_file_keeps_its_places(self):
        file = FOLDER / "places.ria"
        made = ria.Map.create(file, self.map.header, storage="float")
        made.add(self.rows, [ria.Place(name="a", x=1.5), *["b"] * 49])
        made.remove([3])
        del made
        again = ria.Map.open(file)
        self.assertEqual((len(again), again.end, again[0].x, len(again.find("b"))), (49, 50, 1.5, 48))
        self.assertEqual(list(again), [i for i in range(50) if i != 3])
        self.assertEqual(again.items()[0], (0, again.place(0)))
        np.testing.assert_array_equal(again.descriptors([7, 5]), self.rows[[7, 5]])
        self.assertEqual(again.check(), [])
        with self.assertRaises(KeyError):
            again[3]
        with self.assertRaises(RuntimeError):
            ria.Map.create(file, self.map.header)
        with self.assertRaises(FileNotFoundError):
            ria.Map.open(FOLDER / "none.ria")
        file.write_bytes(b"no map")
        with self.assertRaises(RuntimeError):
            ria.Map.open(file)


class Places(unittest.TestCase):
    def test_a_map_of_the_program(self):
        database, queries = street()
        file = FOLDER / "street.ria"
        program("index", "build", database, "--out", file, "--method", "rootsift-ria", "--rerank", "patches")
        printed = json.loads(program("query", file, queries, "-k", 3, "--json"))
        places = ria.Map.open(file)
        recognizer = ria.Recognizer(places)
        described = recognizer.describe(ria.list_pictures(queries))
        found, scores = recognizer.search(places, described, 3)
        self.assertEqual([[m["index"] for m in q["matches"]] for q in printed], found.tolist())
        np.testing.assert_allclose([[m["score"] for m in q["matches"]] for q in printed], scores, rtol=1e-6)
        grown = ria.Map.open(file, write=True)
        self.assertEqual(recognizer.add(described, grown), 8)
        self.assertEqual((len(grown), len(places)), (16, 8))
        self.assertTrue(places.refresh())
        self.assertEqual(len(places), 16)

    def test_loops_of_the_program(self):
        out = FOLDER / "loops.json"
        program("loop", street()[0], "--method", "rootsift-ria", "--recent", 2, "--json", out)
        printed = json.loads(out.read_text())["results"]
        closer = ria.LoopCloser(FOLDER / "loops.ria", "rootsift-ria", recent=2)
        results = [closer.add(p, name=p.name) for p in ria.list_pictures(street()[0])]
        self.assertEqual([frame["reason"] for frame in printed], [result.reason for result in results])
        np.testing.assert_allclose([frame["probability"] for frame in printed], [r.probability for r in results], atol=1e-6)
        seen = closer.add(ria.load_image(ria.list_pictures(street()[0])[1]), odometry=ria.Pose())
        whole = closer.recognizer.describe_whole(ria.load_image(ria.list_pictures(street()[0])[2]))
        self.assertEqual(seen.place_name, ria.list_pictures(street()[0])[1].name)
        self.assertGreater(seen.evidence.cosine, 0.999)
        self.assertEqual(closer.add(whole).place, 2)
        self.assertEqual(closer.options.recent, 2)
        kept = len(closer.map)
        del closer
        self.assertEqual(len(ria.Map.open(FOLDER / "loops.ria")), kept)
        with self.assertRaises(TypeError):
            ria.LoopCloser(recents=2)
        with self.assertRaises(ValueError):
            ria.LoopCloser(method="rootsift-ria", decision=7)


class Evaluations(unittest.TestCase):
    def test_the_programs_recalls(self):
        database, queries = street()
        methods = ["rootsift-ria", "rootsift-gem:p=4"]
        out = FOLDER / "eval.json"
        flags = [word for method in methods for word in ("--method", method)]
        program("eval", "--database_folder", database, "--queries_folder", queries, *flags, "--json", out)
        dataset = ria.load_folders(database, queries)
        steps = []
        found = ria.evaluate(dataset, methods, keep_descriptors=True, progress=lambda done, total: steps.append((done, total)))
        printed = json.loads(out.read_text())
        for one, other in zip(printed, found):
            self.assertEqual({int(k): v for k, v in one["recall"].items()}, other.recall)
            self.assertEqual(one["options"], other.options)
        self.assertEqual(steps[-1], (16, 16))
        self.assertEqual(found[0].query_descriptors.shape, (8, 2080))
        places = found[0].predictions[0]
        self.assertEqual(found[0].recall[1], 100 * np.mean([p[0] in right for p, right in zip(places, dataset.positives)]))
        self.assertEqual([e["method"] for e in json.loads(ria.to_json(found))], [e.method for e in found])
        self.assertIn("rootsift-gem", ria.comparison_table(found))
        ria.write_report(FOLDER / "page.html", dataset, found)
        self.assertIn("<html", (FOLDER / "page.html").read_text())

    def test_a_dataset_of_ones_own(self):
        database, queries = map(ria.list_pictures, street())
        dataset = ria.Dataset(name="mine", database=database, queries=queries[:3], positives=[[0], [1], [7]])
        (found,) = ria.evaluate(dataset, ["rootsift-ria"], d=16)
        self.assertEqual(found.dim, 136)
        self.assertEqual(found.predictions[0].shape, (3, 8))

    def test_tables(self):
        self.assertIn("resnet50-ria", [m.name for m in ria.methods()])
        self.assertIn("nordland", [d.name for d in ria.datasets()])
        self.assertEqual(ria.find_method("rootsift-ria").backbone, "rootsift")
        with self.assertRaises(ValueError):
            ria.load_dataset("nordlnd", FOLDER)
        with self.assertRaises(FileNotFoundError):
            ria.load_dataset("nordland", FOLDER / "none")
        with self.assertRaises(FileNotFoundError):
            ria.load_ground_truth(FOLDER / "none.json")


if __name__ == "__main__":
    unittest.main()
