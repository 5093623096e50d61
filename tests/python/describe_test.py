# SPDX-License-Identifier: MIT
"""Descriptors: the same bits as the program's, from paths and from arrays of any layout."""
import gc
import pickle
import unittest

import numpy as np

from support import FOLDER, program, ria, street

METHOD = "rootsift-ria"


class Describe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pictures = ria.list_pictures(street()[0])
        cls.recognizer = ria.Recognizer(METHOD, d=32)

    def test_bits_of_the_program(self):
        for method, flags, options in [
            (METHOD, ["--d", 32], {"d": 32}),
            ("rootsift-vlad", ["--clusters", 4, "--center"], {"clusters": 4, "center": True}),
            ("rootsift-riax", ["--pca", 4], {"pca": 4}),
        ]:
            with self.subTest(method):
                out = FOLDER / "program.npy"
                program("describe", street()[0], "--out", out, "--method", method, *flags)
                recognizer = ria.Recognizer(method, ria.MethodOptions(**options))
                recognizer.fit(self.pictures)
                described = recognizer.finish(recognizer.describe(self.pictures, relative_to=street()[0]))
                np.testing.assert_array_equal(described.descriptors, np.load(out))
                self.assertEqual(described.names, out.with_suffix(".names.txt").read_text().split("\n")[:-1])

    def test_one_picture_is_a_row_of_many(self):
        rows = self.recognizer.describe(self.pictures).descriptors
        np.testing.assert_array_equal(self.recognizer.describe(self.pictures[3]), rows[3])
        np.testing.assert_array_equal(self.recognizer.describe(str(self.pictures[3])), rows[3])
        np.testing.assert_array_equal(self.recognizer.describe(ria.load_image(self.pictures[3])), rows[3])
        self.assertEqual(rows.dtype, np.float32)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)

    def test_any_layout_of_pixels(self):
        pixels = ria.load_image(self.pictures[0])
        expected = self.recognizer.describe(pixels)
        wide = np.zeros((120, 200, 3), np.uint8)
        wide[5:101, 7:135] = pixels
        alpha = np.dstack([pixels, np.full(pixels.shape[:2], 7, np.uint8)])
        same = {
            "part of a larger picture": (wide[5:101, 7:135], ""),
            "columns first": (np.asfortranarray(pixels), ""),
            "upside down twice": (np.ascontiguousarray(pixels[::-1])[::-1], ""),
            "mirrored twice": (np.ascontiguousarray(pixels[:, ::-1])[:, ::-1], ""),
            "bgr": (np.ascontiguousarray(pixels[..., ::-1]), "bgr"),
            "seen as rgb": (np.ascontiguousarray(pixels[..., ::-1])[..., ::-1], "rgb"),
            "rgba": (alpha, ""),
            "bgra": (np.ascontiguousarray(alpha[..., [2, 1, 0, 3]]), "bgra"),
        }
        for name, (array, form) in same.items():
            with self.subTest(name):
                np.testing.assert_array_equal(self.recognizer.describe(array, format=form), expected)
        grey = np.ascontiguousarray(pixels[..., 1])
        coloured = self.recognizer.describe(np.dstack([grey] * 3))
        np.testing.assert_array_equal(self.recognizer.describe(grey), coloured)
        np.testing.assert_array_equal(self.recognizer.describe(grey[..., None]), coloured)

    def test_arrays_outlive_what_made_them(self):
        recognizer = ria.Recognizer("rootsift-gem")
        described = recognizer.describe(self.pictures)
        rows, kept = described.descriptors, described.descriptors.copy()
        self.assertFalse(rows.flags.owndata, "descriptors were copied")
        self.assertFalse(rows.flags.writeable)
        features = recognizer.features(self.pictures[0])
        patches, some = features.patches, features.patches[0].copy()
        self.assertEqual(len(patches) >= np.prod(features.grid), True)
        del recognizer, described, features
        gc.collect()
        np.testing.assert_array_equal(rows, kept)
        np.testing.assert_array_equal(patches[0], some)

    def test_failures_do_not_stop_the_rest(self):
        bad = FOLDER / "bad.jpg"
        bad.write_bytes(b"no picture")
        described = self.recognizer.describe([self.pictures[0], bad, self.pictures[1]])
        self.assertEqual([f.picture for f in described.failures], [1])
        self.assertIn("bad.jpg", repr(described.failures[0]))
        self.assertEqual(len(described.without_failures()), 2)
        self.assertFalse(described.descriptors[1].any())

    def test_errors_have_their_kind(self):
        describe = self.recognizer.describe
        bad = FOLDER / "bad.png"
        bad.write_bytes(b"\x89PNG")
        for kind, call in [
            (ValueError, lambda: ria.Recognizer("no-such-method")),
            (ValueError, lambda: ria.Recognizer(METHOD, d=-1)),
            (ValueError, lambda: ria.Recognizer(METHOD, dd=1)),
            (ValueError, lambda: ria.Recognizer(METHOD, d="many")),
            (TypeError, lambda: ria.Recognizer(METHOD, d=object())),
            (FileNotFoundError, lambda: describe("no-such.jpg")),
            (FileNotFoundError, lambda: ria.load_image("no-such.jpg")),
            (FileNotFoundError, lambda: ria.list_pictures("no-such")),
            (RuntimeError, lambda: describe(bad)),
            (TypeError, lambda: describe(np.zeros((8, 8, 3)))),
            (TypeError, lambda: describe(3)),
            (ValueError, lambda: describe(np.zeros((8, 8, 5), np.uint8))),
            (ValueError, lambda: describe(np.zeros((0, 8, 3), np.uint8))),
            (ValueError, lambda: describe(np.zeros((8, 8, 3), np.uint8), format="cmyk")),
            (ValueError, lambda: describe(np.zeros(8, np.uint8))),
        ]:
            with self.assertRaises(kind) as caught:
                call()
            self.assertTrue(str(caught.exception))

    def test_options_are_values(self):
        for options in [
            ria.MethodOptions(d=16, center=True, image_size=[64, 80]),
            ria.LoopOptions(recent=3, keep=False),
            ria.DatasetOptions(split="val", frame_tolerance=2),
            ria.Place(name="a", x=2.5),
            ria.Pose(position=[1, 2, 3]),
            ria.MapHeader(method="m", dim=3),
        ]:
            again = pickle.loads(pickle.dumps(options))
            self.assertEqual(again, options)
            self.assertEqual(eval("ria." + repr(options), {"ria": ria, "nan": np.nan, "PosixPath": __import__("pathlib").PosixPath}), options)
        self.assertNotEqual(ria.LoopOptions(recent=3), ria.LoopOptions(recent=4))
        self.assertNotEqual(ria.MethodOptions(d=3), ria.MethodOptions(d=4))
        with self.assertRaises(TypeError):
            ria.LoopOptions(recents=3)
        self.assertEqual(ria.Recognizer(METHOD, ria.MethodOptions(d=16, tau=0.5), d=8).options["tau"], 0.5)
        self.assertEqual(ria.Recognizer(METHOD, ria.MethodOptions(d=16), d=np.int64(8)).dim, 36)


if __name__ == "__main__":
    unittest.main()
