#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the site and opens it in Chromium.
# browser_test.sh SOURCE_DIR BUILD_DIR [SCREENSHOTS]; exit 77: skipped, because something is missing.
set -euo pipefail
for program in chromium node; do
  command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
[ -n "$(find "$2/python/ria" -name '_ria*.so' 2>/dev/null)" ] || { echo "skipped: the Python package is not built"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
/usr/bin/python3 -B "$1/docs/site/make_site.py" "$1" "$2" "$folder/site"
node "$(dirname "$0")/browser_test.mjs" "$folder/site" "$folder/profile" "${3:-}"
