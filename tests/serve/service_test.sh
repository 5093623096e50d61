#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The service with real requests: service_test.sh BUILD_DIR; exit 77: skipped, because Node or cpp-httplib is missing.
set -euo pipefail
build_dir=$(realpath "$1")
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
[ -f "$build_dir/libria-http.so" ] || { echo "skipped: built without cpp-httplib"; exit 77; }
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
node "$here/make_walls.mjs" "$folder/walls" 8
ria() { OMP_WAIT_POLICY=passive "$build_dir/ria" "$@" >/dev/null 2>&1; }
ria index build "$folder/walls" --out "$folder/places.ria" --method rootsift-ria --image_size 120 --rerank patches
mkdir "$folder/two" && cp "$folder"/walls/[01].ppm "$folder/two"
ria index build "$folder/two" --out "$folder/other.ria" --method rootsift-ria --image_size 120
mkdir "$folder/maps" && cp "$folder/places.ria" "$folder/maps"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost' \
  -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>/dev/null
node "$here/service_test.mjs" "$build_dir/ria" "$folder"
node "$here/openapi_test.mjs" "$build_dir/ria" "$folder"
