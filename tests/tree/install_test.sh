#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the library into a fresh folder and has the installed program use its plugins.
set -euo pipefail
build_dir=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
complain() { echo "$*"; exit 1; }

cmake --install "$build_dir" --prefix "$folder/installed" >/dev/null
ria=$folder/installed/bin/ria
"$ria" --version

# Plugins are not linked, so that it starts with few libraries, and give away their entry points only.
needed=$(ldd "$ria")
! grep -E 'curl|hdf5|torch|onnx' <<<"$needed" || complain "ria is linked with libraries of its plugins"
[ "$(wc -l <<<"$needed")" -le 30 ] || complain "ria starts with more than 30 libraries: $needed"
plugins=$(find "$folder/installed" -path '*/ria/libria-*.so')
[ -n "$plugins" ] || complain "no plugin was installed"
for plugin in $plugins; do
  name=$(basename "$plugin" .so)
  exported=$(nm -D --defined-only "$plugin" | sed 's/.* //')
  [ "$exported" = "ria_plugin_${name#libria-}" ] || complain "$plugin exports $exported"
done

# Moved elsewhere as a whole, it finds them beside itself.
mv "$folder/installed" "$folder/moved"
ria=$folder/moved/bin/ria
export XDG_CACHE_HOME=$folder/cache
cd "$folder"
"$ria" simulate street --places 2 2>/dev/null
"$ria" describe street/queries --out x.h5 --method rootsift-gem --longest_side 64
[ "$(head -c 4 x.h5 | tail -c 3)" = HDF ] || complain "x.h5 is no HDF5 file"
printf '\x40\0\0\0\0\0\0\0%-64s\0\0\0\0' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' >weights
"$build_dir/with_served_file" weights "$ria" weights get mine --url
"$ria" weights list | grep -q 'present: .*/mine.safetensors' || complain "nothing was downloaded"
