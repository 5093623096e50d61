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
readonly rounds=15 connections=64 queue=8
folder=$(mktemp -d)
server=
stop() { if [ -n "$server" ]; then kill "$server" 2>/dev/null; wait "$server" || true; fi; server=; }
trap 'stop; rm -rf "$folder"' EXIT
failed=0
fail() { echo "  FAILED: $*"; failed=1; }
field() { awk -v name="$1" '$1 == name { print $2 }'; }
median() { sort -g -k"$1,$1" "$folder/rounds" | awk -v c="$1" '{ all[NR] = $c } END { printf "%.2f\n", all[int((NR + 1) / 2)] }'; }
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

  # Machines change their speed from second to second: of each round the difference of the two medians, of all rounds the
  # median; and of wrk's answers alone, how much longer each took than the library's stages that it names.
  for _ in $(seq "$rounds"); do
    library=$("$build_dir/ria_bench" --query "$map" "$picture" --seconds 2 | cut -d' ' -f1)
    load -t1 -c1 -d2s | awk -v library="$library" '$1 == "p50" { whole = $2 } $1 == "stages" { stages = $2 }
      END { print library, whole, whole - library, whole - stages }'
  done >"$folder/rounds"
  read -r library service over within < <(for column in 1 2 3 4; do median $column; done | tr '\n' ' '; echo)
  echo "$method: a question takes the library $library ms, over HTTP $service ms: $over ms more, within a request $within ms"
  awk -v a="$over" -v b="$within" 'BEGIN { exit !(a <= 3 && b <= 3) }' || fail "more than 3 ms over the library"

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
