# SPDX-License-Identifier: MIT
"""Describing many pictures from Python and by the program, in turns; the best of each counts. CPU time of all
cores together says more than the clock where others use the machine too.

    PYTHONPATH=build/python /usr/bin/python3 bench/python_speed.py --ria build/ria FOLDER"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

IN_PYTHON = """
import sys, ria
from concurrent.futures import ThreadPoolExecutor
method, folder, way = sys.argv[1:]
recognizer = ria.Recognizer(method)
pictures = ria.list_pictures(folder)
if way == "list":
    recognizer.describe(pictures, resume=False)
else:
    with ThreadPoolExecutor(int(way), initializer=ria.set_thread_cores, initargs=(1,)) as pool:
        list(pool.map(recognizer.describe, pictures))
"""


def timed(command):
    """Seconds by the clock and of all cores."""
    begin, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--ria", required=True)
    parser.add_argument("--method", default="resnet50-ria")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    python = [sys.executable, "-c", IN_PYTHON, arguments.method, arguments.folder]
    with tempfile.TemporaryDirectory() as folder:
        program = [arguments.ria, "describe", arguments.folder, "--method", arguments.method, "--out", os.path.join(folder, "x.npy")]
        ways = {"program": program, "program, 1 thread": [*program, "--num_threads", "1"], "Python, a list": [*python, "list"],
                "Python, a pool of 1": [*python, "1"], "Python, a pool of 2": [*python, "2"]}
        best = {}
        for _ in range(arguments.rounds):
            for name, command in ways.items():
                best[name] = [min(pair) for pair in zip(best.get(name, (1e9, 1e9)), timed(command))]
    for name, (clock, cores) in best.items():
        ratio = clock / best["program"][0], cores / best["program"][1]
        print(f"{name:20} {clock:7.2f} s, {cores:7.2f} s of all cores; against the program {ratio[0]:.3f}, {ratio[1]:.3f}")


if __name__ == "__main__":
    main()
