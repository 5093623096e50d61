#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page of `ria serve` in Chromium: real clicks, keys, files and a camera, on a street that is rendered here.
# page_test.sh BUILD_DIR [SCREENSHOTS]; exit 77: skipped, because Chromium, Node or cpp-httplib is missing.
set -euo pipefail
ria=$1/ria
for program in chromium node; do
  command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
[[ -e $1/libria-http.so ]] || { echo "skipped: built without cpp-httplib"; exit 77; }
folder=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; wait "$server" || true; fi; rm -rf "$folder"' EXIT

"$ria" simulate "$folder/street" --places 20 --spacing 12 --query_condition day --lateral_offset 0.5 --heading_offset 1 \
  --width 240 --height 180 2>/dev/null >&2
mkdir "$folder/maps" "$folder/drive"
"$ria" index build "$folder/street/database" --out "$folder/maps/street.ria" --method rootsift-ria --rerank patches 2>/dev/null >&2
cp "$folder/maps/street.ria" "$folder/maps/another.ria"
# A drive of 30 frames: along the street, and the first half of it again.
number=0
for picture in "$folder"/street/database/*.jpg $(find "$folder/street/queries" -name '*.jpg' | sort -t@ -k3 | head -10); do
  cp "$picture" "$folder/drive/$(printf 'frame_%02d.jpg' "$number")"
  number=$((number + 1))
done
echo 'this is no picture' > "$folder/text.jpg"
printf 'write page-test-token-0123\n' > "$folder/tokens"
chmod 600 "$folder/tokens"
"$ria" serve "$folder/maps" --port 0 --tokens "$folder/tokens" --pictures "$folder/street/database" --log none >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 200); do grep -q 'http://' "$folder/log" && break; sleep 0.05; done
address=$(grep -o 'http://[^ ]*' "$folder/log") || { cat "$folder/log"; exit 1; }
node "$(dirname "$0")/page_test.mjs" "$address" "$folder" "${2:-}"
