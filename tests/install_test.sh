#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the library into a fresh folder and builds a ten-line program against it.
set -euo pipefail
source_dir=$1
build_dir=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build_dir" --prefix "$folder/installed" >/dev/null
cmake -G Ninja -S "$source_dir/tests/consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$folder/build" >/dev/null
"$folder/build/consumer" | tee /dev/stderr | grep -q '2080 dims'
"$folder/installed/bin/ria" --version
