# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: a folder of their own, a street, the program."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
os.environ["XDG_CACHE_HOME"] = str(FOLDER / "cache")
SOURCE = Path(__file__).resolve().parents[2]

import ria  # after the cache folder is chosen


def program(*arguments):
    """What `ria` prints."""
    command = [os.environ["RIA_PROGRAM"], *map(str, arguments)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


@functools.lru_cache(None)
def street():
    """Folders of 8 places and as many queries."""
    return ria.simulate(FOLDER / "street", places=8, height=96, width=128)


def example(name, *arguments):
    """What an example prints."""
    command = ["/usr/bin/python3", str(SOURCE / "examples" / "python" / name), *map(str, arguments)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
