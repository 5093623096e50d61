#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What libria.so exports is what the public headers declare with RIA_API, no less and no more.
# exports_test.sh SOURCE_DIR BUILD_DIR; exit 77: skipped, because clang or Node is missing.
set -euo pipefail
for program in clang++-14 node; do
  command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
node "$(dirname "$0")/exports_test.mjs" "$1" "$2"
