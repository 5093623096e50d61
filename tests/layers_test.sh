#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shape of the tree: a third-party library is included by one folder, every public header compiles
# alone with nothing but the standard library and Eigen, and no file lacks its licence line.
set -euo pipefail
cd "$1"
include_dir=$2
failed=0
complain() { echo "$*"; failed=1; }

only_in() {  # pattern folder...
  local pattern=$1 folder file
  shift
  for file in $(grep -rlE "#include [<\"]($pattern)" src include || true); do
    folder=$(dirname "$file")
    case " $* " in *" $folder "*) ;; *) complain "$file includes $pattern, which lives in: $*" ;; esac
  done
}
only_in 'opencv|jpeglib|jerror' src/image
only_in 'dnnl|cblas' src/nn
only_in 'faiss' src/index
only_in 'hdf5|H5' src/store
only_in 'openssl' src/util
only_in 'zlib' src/weights
only_in 'curl/' src/weights
only_in 'CLI/' src/cli
only_in 'omp.h' src/nn src/util

if grep -nE '#include <(fmt|nlohmann)' include/ria/*.h; then complain "public headers use std and Eigen types only"; fi
# A header that a source file includes first has been compiled alone by the build.
first_included=$(find src -name '*.cc' -exec grep -m1 -h '#include' {} + | sed -n 's|.*"\(ria/.*\)".*|include/\1|p' | sort -u)
for header in include/ria/*.h; do
  grep -qxF "$header" <<<"$first_included" && continue
  g++ -std=c++20 -fsyntax-only -Iinclude -I"$include_dir" -I/usr/include/eigen3 -include "$header" -x c++ /dev/null ||
    complain "$header does not compile alone"
done
for file in $(git ls-files '*.cc' '*.h' '*.sh' '*.cmake' '*CMakeLists.txt' run); do
  head -2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || complain "$file has no SPDX line"
done
exit $failed
