#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Debian packages of a build: what is in them, what they need, what lintian says. Installing them is
# chroot_test.sh's. Exit 77: skipped, because the tools are missing.
set -euo pipefail
build_dir=$1
command -v dpkg-shlibdeps >/dev/null || { echo "skipped: no dpkg-dev"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
complain() { echo "$*"; exit 1; }

cpack --config "$build_dir/CPackConfig.cmake" -B "$folder" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$folder/log" 2>&1 ||
  complain "$(cat "$folder/log")"
version=$("$build_dir/ria" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)-1

holds() {  # PACKAGE PATTERN...: a file of the package matches each
  local files pattern package=$1
  files=$(dpkg-deb -c "$folder/${package}_${version}_"*.deb | awk '{ print $6 }') || complain "no package $package of version $version"
  for pattern in "${@:2}" "/usr/share/doc/$package/copyright$" "/usr/share/doc/$package/changelog.Debian.gz$"; do
    grep -qE -- "$pattern" <<<"$files" || complain "$package has no $pattern: $files"
  done
}
needs() {  # PACKAGE FIELD TEXT
  dpkg-deb -f "$folder/$1_${version}_"*.deb "$2" | grep -qF -- "$3" || complain "$1 has no $3 in $2: $(dpkg-deb -f "$folder/$1_${version}_"*.deb)"
}

holds libria '/libria\.so\.0$' '/ria/libria-curl\.so$' '/ria/libria-hdf5\.so$'
holds libria-dev '/ria/recognizer\.h$' '/ria/version\.h$' '/riaConfig\.cmake$' '/libria\.so$'
holds ria-tools '/usr/bin/ria$' '/man1/ria\.1\.gz$' '/bash-completion/completions/ria$' '/vendor-completions/_ria$' '/ria\.service$'
needs libria Depends libsqlite3-0
needs libria Recommends libcurl4
needs libria Recommends libhdf5-103
! dpkg-deb -f "$folder/libria_${version}_"*.deb Depends | grep -E 'libcurl|libhdf5|libpq|libtorch' || complain "libria depends on a plugin's library"
needs libria-dev Depends "libria (= $version)"
needs ria-tools Depends "libria (= $version)"
if [ -d "$build_dir/python/ria" ]; then
  holds python3-ria '/python3/dist-packages/ria/_ria\.cpython.*\.so$' '/ria/py\.typed$'
  needs python3-ria Depends "libria (= $version)"
  needs python3-ria Depends python3-numpy
fi
if [ -f "$build_dir/libria-torch.so" ]; then
  holds ria-train '/ria/libria-torch\.so$'
  needs ria-train Depends "ria-tools (= $version)"
  needs ria-train Depends libtorch
fi

if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$folder"/*.deb || complain "lintian has found errors"
else
  echo "skipped: lintian, which is not installed"
fi
