# SPDX-License-Identifier: MIT
"""Long calls: other threads run meanwhile, Ctrl-C ends them, and nothing is left behind."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from support import FOLDER, ria, street

INTERRUPTED = """
import os, signal, sys, threading, time
import ria
recognizer = ria.Recognizer("rootsift-ria")
pictures = ria.list_pictures(sys.argv[1]) * 200
asked = []
def progress(done, total):
    if done > 3 and not asked:
        asked.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
try:
    recognizer.describe(pictures, progress=progress)
except KeyboardInterrupt:
    print("ended", time.monotonic() - asked[0])
first = []
def again(done, total):
    first.append(done)
    raise RuntimeError("enough")
try:
    recognizer.describe(pictures, progress=again)
except RuntimeError:
    print("went on", first[0])
"""

FIRST_ARRAYS = """
import sys, threading
import ria
recognizer, begin = ria.Recognizer("rootsift-gem", longest_side=64), threading.Barrier(4)
picture = ria.list_pictures(sys.argv[1])[0]
def describe():
    begin.wait()
    recognizer.describe(picture)
threads = [threading.Thread(target=describe) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Calls(unittest.TestCase):
    def test_ctrl_c(self):
        street()
        out = subprocess.run([sys.executable, "-c", INTERRUPTED, str(street()[0])], check=True, text=True, stdout=subprocess.PIPE).stdout
        ended, went_on = out.splitlines()
        self.assertLess(float(ended.split()[1]), 20)  # a picture of each thread, on a busy machine
        self.assertGreater(int(went_on.split()[2]), 3, "what was finished before was described again")

    def test_other_threads_run(self):
        recognizer = ria.Recognizer("rootsift-ria")
        counted, ended = [0], threading.Event()

        def count():
            while not ended.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        pictures = ria.list_pictures(street()[0]) * 4
        thread.start()
        before = counted[0]
        recognizer.describe(pictures, resume=False)
        during = counted[0] - before
        ended.set()
        thread.join()
        self.assertGreater(during, 5)

    def test_the_first_arrays_of_a_process_in_many_threads(self):
        for _ in range(3):
            subprocess.run([sys.executable, "-c", FIRST_ARRAYS, str(street()[0])], check=True, timeout=60)

    def test_a_pool_of_threads(self):
        recognizer = ria.Recognizer("rootsift-ria")
        pictures = [ria.load_image(p) for p in ria.list_pictures(street()[0])]
        alone = [recognizer.describe(p) for p in pictures]
        with ThreadPoolExecutor(4, initializer=ria.set_thread_cores, initargs=(1,)) as pool:
            np.testing.assert_array_equal(list(pool.map(recognizer.describe, pictures)), alone)
            files = list(pool.map(lambda i: recognizer.describe(ria.list_pictures(street()[0])).descriptors, range(3)))
        for rows in files:
            np.testing.assert_array_equal(rows, alone)

    def test_an_exception_of_progress_ends_the_call(self):
        def progress(done, total):
            raise LookupError("mine")

        with self.assertRaisesRegex(LookupError, "mine"):
            ria.Recognizer("rootsift-ria").describe(ria.list_pictures(street()[0]), progress=progress, resume=False)

    def test_nothing_leaks(self):
        ria.set_thread_cores(1)
        recognizer = ria.Recognizer("rootsift-gem", native_size=True)
        pixels = np.random.default_rng(1).integers(0, 255, (32, 32, 3), np.uint8)
        rows = recognizer.describe(pixels)[None]
        places = ria.Map(recognizer.header)
        places.add(rows, ["a"])
        file = ria.list_pictures(street()[0])[0]

        def call(times):
            for i in range(times):
                recognizer.describe(pixels)
                recognizer.describe_whole(pixels[:, ::-1]).descriptor
                places.search(rows, 1, allowed=lambda place: True)
                places[0]
                ria.MethodOptions(d=3)
                if i % 500 == 0:
                    recognizer.describe([file], resume=False, progress=lambda done, total: None).descriptors
                for wrong in (lambda: recognizer.describe(rows), lambda: places[7]):
                    try:
                        wrong()
                    except (TypeError, KeyError):
                        pass

        call(1000)
        tracemalloc.start()
        gc.collect()
        before, resident_before = tracemalloc.take_snapshot(), resident()
        call(10000)
        gc.collect()
        grown = sum(s.size_diff for s in tracemalloc.take_snapshot().compare_to(before, "filename") if "tracemalloc" not in str(s.traceback))
        tracemalloc.stop()
        self.assertLess(grown, 100_000, "bytes of Python")
        self.assertLess(resident() - resident_before, 8_000_000, "bytes of the process")


if __name__ == "__main__":
    unittest.main()
