#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every line of the sh blocks of a page as it stands and in order. Behind '# 200' come the status and a part of the
# answer of curl, behind '# ->' what must be printed. Then the page's Python.
# commands_test.sh SOURCE_DIR BUILD_DIR PAGE LINES [weights]: at least so many lines, with the weights of ResNet50;
# exit 77: skipped, because curl, cpp-httplib or the weights are missing.
set -euo pipefail
page=$(realpath "$1")/$3
build_dir=$(realpath "$2")
command -v curl >/dev/null || { echo "skipped: no curl"; exit 77; }
[ -f "$build_dir/libria-http.so" ] || { echo "skipped: built without cpp-httplib"; exit 77; }
if [ "${5:-}" = weights ]; then
  "$build_dir/ria" weights list | grep 'present: .*/resnet50.safetensors' >/dev/null || { echo "skipped: no resnet50 weights"; exit 77; }
fi
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" && wait "$server" || true; fi; rm -rf "$folder"' EXIT
cd "$folder"

# The documented port may be taken here: ria listens on a free one, and curl is led there.
ria() {
  if [ "$1" = serve ]; then exec "$build_dir/ria" "$@" --port 0 >log 2>&1; fi
  "$build_dir/ria" "$@"
}
lead_curl() {
  for _ in $(seq 200); do grep -q 'http://' log 2>/dev/null && break; sleep 0.05; done
  export CURL_HOME=$folder
  printf 'connect-to = "127.0.0.1:8080:%s"\nwrite-out = "%%{stderr}%%{http_code}\\n"\nno-progress-meter\n' \
    "$(grep -o '127.0.0.1:[0-9]*' log)" >.curlrc
}
blocks() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } $0 == "```" { on = 0 } 
  on && NF { if (sub(/\\$/, "")) printf "%s", $0; else print }' "$page"; }
complain() {
  echo "$line"
  echo "was answered with $(tr '\n' ' ' <status) $(head -c 400 answer)"
  exit 1
}

lines=0
while IFS= read -r line; do
  expected=$(sed -n 's/.*  *# \(->\|[0-9]\{3\}\)\( .*\)\{0,1\}$/\1\2/p' <<<"$line")
  eval "$line" >answer 2>status </dev/null || { echo "failed: $line"; cat status; exit 1; }
  [[ $line == *'&' ]] && server=$! && lead_curl
  lines=$((lines + 1))
  case $expected in
    '') ;;
    '->'*) [[ $(<answer) == *"${expected:3}"* ]] || complain ;;
    *) [[ $(sort -u status) == "${expected:0:3}" && $(<answer) == *"${expected:4}"* ]] || complain ;;
  esac
done < <(blocks sh)
[ "$lines" -ge "$4" ] || { echo "only $lines lines found in $3"; exit 1; }
if [ -d "$build_dir/python/ria" ]; then
  blocks python | PYTHONPATH=$build_dir/python PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3
fi
echo "$lines lines of $3 do what they say"
