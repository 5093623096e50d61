#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs built against an installed copy of the library in the ways its users may build them: what they
# compute does not depend on their compiler and its flags, and the library never takes code of theirs in
# place of its own. A way that this machine does not have is said to be skipped.
set -euo pipefail
source_dir=$1
build_dir=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
complain() { echo "$*"; exit 1; }

cmake --install "$build_dir" --prefix "$folder/installed" >/dev/null

try() {  # name, compiler, flags
  local name=$1 compiler=$2 flags="$3 -Wall -Wextra -Werror"
  [ "$compiler" != g++ ] || flags+=' -Wno-restrict -Wno-maybe-uninitialized'  # false alarms of g++ 12 in its own headers
  echo "$name: $compiler $flags"
  cmake -G Ninja -S "$source_dir/tests/tree/consumer" -B "$folder/$name" -DCMAKE_PREFIX_PATH="$folder/installed" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
  cmake --build "$folder/$name" >"$folder/$name.log" || complain "$(cat "$folder/$name.log")"
  mkdir "$folder/$name/pictures"
  { "$folder/$name/consumer" "$folder/$name/pictures"; "$folder/$name/with_eigen"; } >"$folder/$name.txt"
  diff "$folder/plain.txt" "$folder/$name.txt" || complain "$name says something else than plain"
}

# The loader may have copied tables of the library's classes into the program, and the standard library's
# functions are the same for all.
takes_nothing() {  # name
  LD_BIND_NOW=1 LD_DEBUG=bindings "$folder/$1/consumer" "$folder/$1/pictures" 2>&1 >/dev/null |
    sed -n "s/.*binding file .*libria\.so.* to .*consumer \[0\]: normal symbol \`\([^']*\)'.*/\1/p" | sort -u >"$folder/taken"
  nm -D --defined-only --format=just-symbols "$(g++ -print-file-name=libstdc++.so.6)" | sed 's/@.*//' | sort -u >"$folder/std"
  sed -n '/^_ZT[VIS]N3ria/d; /^_Z/p' "$folder/taken" | comm -23 - "$folder/std" | c++filt >"$folder/alien"
  [ ! -s "$folder/alien" ] || complain "libria calls the program's $(cat "$folder/alien")"
}

try plain g++ -O0
cat "$folder/plain.txt"
grep -q '2080 dims' "$folder/plain.txt"
takes_nothing plain
try native g++ '-O3 -march=native'
takes_nothing native
if grep -q ' avx2 ' /proc/cpuinfo && grep -q ' fma ' /proc/cpuinfo; then
  try avx2 g++ '-O2 -mavx2 -mfma'
else
  echo "skipped: avx2, which this CPU does not have"
fi
if command -v clang++-14 >/dev/null; then
  try clang clang++-14 '-O2 -march=native'
else
  echo "skipped: clang++-14, which is not installed"
fi
try sanitized g++ '-O1 -g -fsanitize=address'
