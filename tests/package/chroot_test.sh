#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the packages in a fresh Debian 12, uses them as the README says, builds the C++ example against them,
# purges them, and looks for what is left. Needs root, debootstrap and Debian's mirror. Exit 77: skipped.
#     tests/package/chroot_test.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
source_dir=$(realpath "$1")
build_dir=$(realpath "$2")
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "skipped: needs root and debootstrap"; exit 77; }
folder=$(mktemp -d)
root=$folder/root
cleanup() { umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$folder"; }
trap cleanup EXIT
complain() { echo "$*"; exit 1; }

debootstrap --variant=minbase bookworm "$root" >"$folder/log" 2>&1 || complain "$(tail -n 5 "$folder/log")"
mount -t proc proc "$root/proc"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
apt() { inside apt-get -qq -y "$@" >"$folder/log" 2>&1 || complain "apt-get $*: $(tail -n 20 "$folder/log")"; }

# Everything they depend on first, so that what they leave can be told from what others leave.
mkdir "$root/packages"
cp "$build_dir"/packages/*.deb "$root/packages/"
packages=()
wanted=()
for file in "$build_dir"/packages/*.deb; do
  packages+=("$(dpkg-deb -f "$file" Package)")
  for field in Depends Recommends; do
    while IFS= read -r one; do
      [[ -z $one || $one =~ ^(libria|ria-tools)\ \(= ]] || wanted+=("$one")
    done < <(dpkg-deb -f "$file" $field | sed 's/, */\n/g')
  done
done
apt update
apt satisfy --no-install-recommends "${wanted[@]}"
apt install --no-install-recommends g++ cmake make libeigen3-dev man-db
listing() {
  inside find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /root -o -path /packages -o -path /var/lib/dpkg -o -path /var/log \
    -o -path /var/cache/apt -o -path /var/lib/apt -o -path /var/cache/man -o -path /var/cache/ldconfig \) -prune -o -print | sort
}
listing >"$folder/before"
apt install $(cd "$root" && echo ./packages/*.deb)
inside dpkg --audit
echo "installed: ${packages[*]}"

# The README's use, with the same script as in the build folder.
mkdir -p "$root/root/source/tests/tree" "$root/root/source/examples" "$root/root/.cache/ria/weights" "$root/root/build"
cp "$source_dir/README.md" "$root/root/source/"
cp "$source_dir/examples/recognize.cc" "$root/root/source/examples/"
cp "$source_dir/tests/tree/readme_test.sh" "$root/root/source/tests/tree/"
cp -r "$source_dir/tests/tree/consumer" "$root/root/source/tests/tree/"
weights=$("$build_dir/ria" weights list | sed -n 's/.*present: \(.*resnet50\.safetensors\).*/\1/p' | head -n 1)
[ -z "$weights" ] || cp "${weights%.*}".* "$root/root/.cache/ria/weights/"
ln -s /usr/bin/ria "$root/root/build/ria"
inside g++ -std=c++20 -O2 -march=native /root/source/examples/recognize.cc -o /root/build/recognize -lria
inside cmake -S /root/source/tests/tree/consumer -B /root/consumer -DCMAKE_CXX_FLAGS=-march=native >/dev/null
inside cmake --build /root/consumer >/dev/null
inside mkdir -p /root/pictures
inside /root/consumer/consumer /root/pictures
inside bash /root/source/tests/tree/readme_test.sh /root/source /root/build
inside python3 -c 'import ria; print("Python", ria.__version__, ria.__file__)'
inside man --warnings ria | head -n 4
inside bash -c 'source /usr/share/bash-completion/completions/ria && complete -p ria'

apt purge "${packages[@]}"
listing >"$folder/after"
diff "$folder/before" "$folder/after" || complain "the packages left something behind"
echo "purged: nothing is left"

# The last stage of the Dockerfile, as far as it can be tried without an engine: its RUNs, then the program as its user.
awk '/^FROM/ { run = "" }
     { while (sub(/\\$/, "")) { getline more; $0 = $0 more } }
     /^RUN / { run = run substr($0, 5) "\n" }
     END { printf "%s", run }' "$source_dir/packaging/Dockerfile" >"$root/last_stage"
inside sh -e /last_stage >"$folder/log" 2>&1 || complain "packaging/Dockerfile: $(tail -n 20 "$folder/log")"
inside su -s /bin/sh ria -c 'cd && ria --version && ria simulate street --places 3 && ria index build street/database --out m.ria --method rootsift-ria' >"$folder/log" 2>&1 ||
  complain "packaging/Dockerfile's user: $(tail -n 20 "$folder/log")"
echo "the container's last stage runs"
