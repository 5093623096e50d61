#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every line of the README's sh blocks in order, as a reader would, and checks that its C++ lines stand
# in the example that is built and that its Python runs. Exit 77: skipped, because the weights are missing.
set -euo pipefail
source_dir=$1
build_dir=$2
"$build_dir/ria" weights list | grep 'present: .*/resnet50.safetensors' >/dev/null || { echo "skipped: no resnet50 weights"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$build_dir" build

block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } $0 == "```" { on = 0 } on' "$source_dir/README.md"; }

commands=0
while IFS= read -r line; do
  echo "\$ $line"
  bash -euo pipefail -c "$line" </dev/null
  commands=$((commands + 1))
done < <(block sh)
[ "$commands" -ge 8 ] || { echo "only $commands commands found in README.md"; exit 1; }

while IFS= read -r line; do
  grep -qFx -- "$line" "$source_dir/examples/recognize.cc" ||
    { echo "README.md shows C++ that examples/recognize.cc does not have: $line"; exit 1; }
done < <(block cpp)
"$build_dir/recognize" street/database "$(ls -d street/queries/* | head -1)" | grep -q street/database
if [ -d "$build_dir/python/ria" ]; then
  { block python; echo 'print(places[numbers[0]].name, scores[0])'; } | PYTHONPATH=$build_dir/python /usr/bin/python3 | grep street/database
fi
