#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shape of the tree: a third-party library is included by one folder, every public header compiles
# alone with nothing but the standard library (those for users of another library: with that), a folder
# includes what its line in src/CMakeLists.txt names, and no file lacks its licence line.
set -euo pipefail
cd "$1"
include_dir=$2
failed=0
complain() { echo "$*"; failed=1; }

only_in() {  # pattern folder-or-file...
  local pattern=$1 folder file
  shift
  for file in $(grep -rlE "#include [<\"]($pattern)" src include python || true); do
    folder=$(dirname "$file")
    case " $* " in *" $folder "* | *" $file "*) ;; *) complain "$file includes $pattern, which lives in: $*" ;; esac
  done
}
only_in 'jpeglib|jerror|png\.h|tiff|webp/' src/image
only_in 'opencv' include/ria/opencv.h
only_in 'dnnl|cblas' src/nn
only_in 'sqlite' src/index
only_in 'libpq' src/index/postgres
only_in 'hdf5|H5' src/store/hdf5
only_in 'openssl' src/util src/serve/http
only_in 'httplib' src/serve/http
only_in 'dlfcn' src/util
only_in 'zlib' src/archive
only_in 'curl/' src/fetch/curl
only_in 'torch/(csrc|torch|version)|ATen|c10|gloo' src/train/torch
only_in 'onnxruntime' src/backbone/onnx
only_in 'faiss' src/optimise/faiss
only_in 'CLI/' src/cli
only_in 'omp.h' src/nn src/util
only_in 'pybind11' python/src

while read -r folder allowed; do
  while IFS=: read -r file used; do
    case " $folder $allowed ria " in *" $used "*) ;; *) complain "$file includes $used/, which src/CMakeLists.txt does not grant" ;; esac
  done < <(grep -roE '#include "[a-z_]+/' "src/$folder" | sed 's|#include "||; s|/$||' | sort -u)
done < <(sed -n 's/^ria_module(\([a-z_]*\)\( WORDS\)\?\( DEPENDS \([a-z_ ]*[a-z_]\)\)\?.*/\1 \4/p' src/CMakeLists.txt)

# Types of another library would make the ABI depend on how that is compiled: the headers for its users
# are included by no other.
for_users_of='eigen|opencv'
public=$(ls include/ria/*.h | grep -vE "/($for_users_of)\.h$")
if grep -nP "#include (<.*[/.]|\"(?!ria/)|\"ria/($for_users_of)\.h)" $public; then
  complain "public headers include ria's own and the standard library only"
fi
# A header that a source file includes first has been compiled alone by the build.
first_included=$(find src -name '*.cc' -exec grep -m1 -h '#include' {} + | sed -n 's|.*"\(ria/.*\)".*|include/\1|p' | sort -u)
for header in include/ria/*.h; do
  grep -qxF "$header" <<<"$first_included" && continue
  [ "$header" != include/ria/opencv.h ] || continue  # has a test of its own where there is OpenCV
  g++ -std=c++20 -fsyntax-only -Iinclude -I"$include_dir" -isystem /usr/include/eigen3 -include "$header" -x c++ /dev/null ||
    complain "$header does not compile alone"
done
for file in $(git ls-files '*.cc' '*.h' '*.sh' '*.cmake' '*CMakeLists.txt' '*.py' '*.pyi' run); do
  head -2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || complain "$file has no SPDX line"
done
exit $failed
