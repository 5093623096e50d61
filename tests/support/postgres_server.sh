#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's PostgreSQL, which has no pgvector, for tests: postgres_server.sh FOLDER PORT. User postgres, password secret.
# It becomes the server: who ends this process ends that.
set -euo pipefail
folder=$1
port=$2
bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)
as=()
if [ "$(id -u)" = 0 ]; then  # whom it refuses to run as
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  chmod a+x "$folder"
fi
mkdir "$folder/postgres"
cd "$folder/postgres"
echo secret >password
[ "$(id -u)" != 0 ] || chown -R postgres .
"${as[@]}" "$bin/initdb" -D data -U postgres -A scram-sha-256 --pwfile=password -N >&2
exec "${as[@]}" "$bin/postgres" -D data -p "$port" -k "$PWD" -c listen_addresses=127.0.0.1 >&2
