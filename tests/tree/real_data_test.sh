#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recall on the real sets beside the project, against what place recognition needs to be worth its name.
# Exit 77: skipped, because pictures or weights are missing.
set -euo pipefail
ria=$1/ria
data=${RIA_DATA_DIR:-$2/../shared/data}/gardens_point
[ -d "$data" ] || { echo "skipped: no $data"; exit 77; }
"$ria" weights list | grep 'present: .*/resnet50.safetensors' >/dev/null || { echo "skipped: no resnet50 weights"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

recall() {  # ground truth, method...: prints R@1 of each
  local truth=$1 flags=()
  shift
  for method in "$@"; do flags+=(--method "$method"); done
  "$ria" eval --dataset "$data/$truth" "${flags[@]}" --seed 42 --json "$folder/out.json" >&2
  grep -A8 '"recall"' "$folder/out.json" | sed -n 's/.*"1": *\([0-9.]*\).*/\1/p'
}
at_least() {  # value, bound, what
  awk -v value="$1" -v bound="$2" 'BEGIN { exit !(value >= bound) }' || { echo "$3 is $1, at least $2 was expected"; exit 1; }
  echo "$3: $1 (at least $2)"
}

mapfile -t night < <(recall gt_night_right_vs_day_right.json resnet50-ria resnet50-gem)
at_least "${night[0]}" 68 "night -> day R@1 of resnet50-ria"
at_least "$(awk "BEGIN { print ${night[0]} - ${night[1]} }")" 10 "its lead over resnet50-gem"
mapfile -t left < <(recall gt_day_left_vs_day_right.json resnet50-ria)
at_least "${left[0]}" 97 "left -> right R@1 of resnet50-ria"
