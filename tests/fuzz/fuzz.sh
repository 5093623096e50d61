#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh BUILD_DIR SECONDS [READER...]: builds the fuzzers with clang and runs each reader's for SECONDS.
# What they learn stays in BUILD_DIR/corpus; a find is written to BUILD_DIR/finds and fails.
# RIA_FUZZ_TIMEOUT: seconds one input may take, 10 if unset; more where the machine may stand still.
# RIA_FUZZ_SEED: the same one tries the same inputs in the same order; chosen by the clock if unset.
# Exit 77: skipped, because clang is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_dir=$1
seconds=$2
shift 2
readers=("$@")
[ ${#readers[@]} -gt 0 ] || readers=(safetensors torch json mat npy image map search jpeg_stream http)
golden=${RIA_GOLDEN_DIR:-$here/../../../shared/golden}

compiler=
for candidate in clang++-14 clang++; do
  if command -v "$candidate" >/dev/null; then compiler=$candidate && break; fi
done
[ -n "$compiler" ] || { echo "skipped: no clang"; exit 77; }
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
  "$compiler" -x c++ -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null ||
  { echo "skipped: $compiler has no libFuzzer (package libclang-rt-14-dev)"; exit 77; }

mkdir -p "$build_dir"
build_dir=$(cd "$build_dir" && pwd)
[ -f "$build_dir/build.ninja" ] || cmake -S "$here" -B "$build_dir" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_C_COMPILER="${compiler/++/}" >/dev/null
cmake --build "$build_dir" >"$build_dir/build.log" || { cat "$build_dir/build.log"; exit 1; }

seed() {  # reader, largest, ending...: the project's own seeds, and what the goldens have of moderate size
  local reader=$1 largest=$2 ending file
  shift 2
  mkdir -p "$build_dir/corpus/$reader" "$build_dir/finds"
  cp "$here/seeds/$reader/"* "$build_dir/corpus/$reader/"
  [ -d "$golden" ] || { echo "$reader: no goldens in $golden, own seeds only"; return; }
  for ending in "$@"; do
    while IFS= read -r file; do
      cp --no-preserve=mode "$file" "$build_dir/corpus/$reader/$(basename "$(dirname "$file")")_$(basename "$file")"
    done < <(find -L "$golden" -name "*$ending" -size -"$largest")
  done
}
seed safetensors 64k .safetensors
seed torch 64k .pth .pt .pth.tar
seed json 64k
seed mat 300k .mat
seed npy 64k .npy .npz
seed image 64k .png .jpg
seed map 64k
seed search 64k
seed jpeg_stream 64k
seed http 64k

failed=0
for reader in "${readers[@]}"; do
  [ -x "$build_dir/${reader}_fuzz" ] || { echo "$reader: skipped, what it needs is not installed"; continue; }
  log=$build_dir/$reader.log
  # The service's threads live on between two inputs, and what only they hold would be taken for leaks.
  leaks=1 && [ "$reader" = http ] && leaks=0
  if (cd "$build_dir" && ./"${reader}_fuzz" -max_total_time="$seconds" -seed="${RIA_FUZZ_SEED:-0}" -timeout="${RIA_FUZZ_TIMEOUT:-10}" -rss_limit_mb=2048 -max_len=300000 -detect_leaks=$leaks \
    -print_final_stats=1 -artifact_prefix=finds/"$reader"_ "corpus/$reader" >"$log" 2>&1); then
    echo "$reader: $(grep -o 'cov: [0-9]* ft: [0-9]* corp: [0-9]*' "$log" | tail -1)," \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, no finds"
  else
    failed=1
    echo "$reader: FAILED"
    tail -40 "$log"
  fi
done
exit $failed
