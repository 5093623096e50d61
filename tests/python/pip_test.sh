#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pip_test.sh SOURCE_DIR BUILD_DIR: pip installs the package from the build, without a network, and what it
# installed works elsewhere, plugins included. Exit 77: skipped, because there is no pip.
set -euo pipefail
python=/usr/bin/python3
$python -m pip --version >/dev/null 2>&1 || { echo "skipped: no pip"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
RIA_BUILD_DIR=$2 PIP_NO_INDEX=1 $python -m pip install --quiet --no-deps --target "$folder/packages" "$1"
cd "$folder"
XDG_CACHE_HOME=$folder/cache PYTHONPATH=$folder/packages $python - <<'PYTHON'
import ria
assert "packages" in ria.__file__, ria.__file__
assert "packages" in next(line for line in open("/proc/self/maps") if "/libria.so" in line)
recognizer = ria.Recognizer("rootsift-gem")
database, _ = ria.simulate("street", places=2, height=64, width=64)
ria.save_descriptors("x.h5", recognizer.describe(ria.list_pictures(database)), recognizer.header)
assert open("x.h5", "rb").read(4) == b"\x89HDF"
PYTHON
[ ! -e "$1/ria.egg-info" ] && [ -f packages/ria/py.typed ] && ls packages/ria packages/ria-*.dist-info
