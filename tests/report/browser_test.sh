#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Opens a report and the page of every study in Chromium at the width of a phone and of a desktop.
# browser_test.sh BUILD_DIR [SCREENSHOTS]; exit 77: skipped, because Chromium or Node is missing.
set -euo pipefail
build_dir=$1
for program in chromium node; do
  command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build_dir/report_pages" "$folder"
node "$(dirname "$0")/browser_test.mjs" "$folder" "${2:-}"
