#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a question costs more over HTTP than in the library, and how the service bears 64 clients at once.
# serve_load.sh BUILD_DIR [SECONDS [METHOD...]]; needs ria, ria_bench and wrk. Fails if a limit of docs/service.md does not hold.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_dir=$(realpath "$1")
seconds=${2:-60}
methods=("${@:3}")
[ ${#methods[@]} -gt 0 ] || methods=(rootsift-ria resnet50-ria)
readonly rounds=5 connections=64 queue=8
folder=$(mktemp -d)
server=
stop() { if [ -n "$server" ]; then kill "$server" 2>/dev/null; wait "$server" || true; fi; server=; }
trap 'stop; rm -rf "$folder"' EXIT
failed=0
fail() { echo "  FAILED: $*"; failed=1; }
field() { awk -v name="$1" '$1 == name { print $2 }'; }
resident() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$server/status"; }  # MB
load() { RIA_PICTURE=$picture wrk "$@" -s "$here/serve_load.lua" --timeout 30s "$address/v1/maps/$method/query?k=5"; }

"$build_dir/ria" simulate "$folder/street" --places 200 --query_condition day 2>/dev/null >&2
picture=$(find "$folder/street/queries" -name '*.jpg' | sort | sed -n 50p)
for method in "${methods[@]}"; do
  map=$folder/$method.ria
  "$build_dir/ria" index build "$folder/street/database" --out "$map" --method "$method" --rerank patches 2>/dev/null >&2
  "$build_dir/ria" serve "$map" --port 0 --log none --max_queue "$queue" >"$folder/log" 2>&1 &
  server=$!
  for _ in $(seq 600); do grep -q 'http://' "$folder/log" && break; sleep 0.1; done
  address=$(grep -o 'http://[^ ]*[0-9]' "$folder/log") || { cat "$folder/log"; exit 1; }

  # The rounds alternate; of each the median, of all the best.
  library=inf service=inf
  for _ in $(seq "$rounds"); do
    library=$("$build_dir/ria_bench" --query "$map" "$picture" --seconds 3 | awk -v best="$library" '{ print (best == "inf" || $1 < best) ? $1 : best }')
    service=$(load -t1 -c1 -d3s | field p50 | awk -v best="$service" '{ print (best == "inf" || $1 < best) ? $1 : best }')
  done
  echo "$method: a question takes the library $library ms, over HTTP $service ms: $(awk -v a="$service" -v b="$library" 'BEGIN { printf "%+.2f", a - b }') ms"
  awk -v a="$service" -v b="$library" 'BEGIN { exit !(a - b <= 3) }' || fail "more than 3 ms over the library"

  load -t2 -c"$connections" -d"${seconds}s" >"$folder/load" &
  sleep 10 && early=$(resident)
  sleep $((seconds - 11)) && late=$(resident)
  wait $!
  echo "  $connections connections, $seconds s, --max_queue $queue: $(grep -E '^(status|broken)' "$folder/load" | sort | tr '\n' ',' | sed 's/,$//; s/,/, /g')"
  echo "  p99 of all answers $(field p99 <"$folder/load") ms; memory after 10 s $early MB, at the end $late MB"
  [ "$(awk '$1 == "status" && $2 != 200 && $2 != 429' "$folder/load")" = "" ] || fail "answers other than 200 and 429"
  [ "$(field broken <"$folder/load")" = 0 ] || fail "connections that broke"
  awk -v a="$early" -v b="$late" 'BEGIN { exit !(b <= a * 1.02 + 1) }' || fail "memory grows"
  stop
done
exit $failed
