#!/usr/bin/env bash
# Lets schemathesis loose on a Tally of its own: requests made from openapi.yaml, right ones and wrong ones. Fails on any
# 5xx, and on any status, content type, header or body that openapi.yaml does not list. Needs Python 3.
#
#   npm run check:contract            # or with other options of schemathesis: npm run check:contract -- --max-examples 500
set -euo pipefail
cd "$(dirname "$0")/../.."

SCHEMATHESIS_VERSION=4.32.5
HOME_OF_TOOLS="${XDG_CACHE_HOME:-$HOME/.cache}/tally-tools/schemathesis-$SCHEMATHESIS_VERSION"
if [ ! -x "$HOME_OF_TOOLS/bin/schemathesis" ]; then
  python3 -m venv "$HOME_OF_TOOLS"
  "$HOME_OF_TOOLS/bin/pip" install --quiet "schemathesis==$SCHEMATHESIS_VERSION"
fi

folder=$(mktemp -d)
chmod o+x "$folder" # PostgreSQL runs as a user of its own when we are root
PORT=0 ADMIN_PORT=0 CLICKHOUSE_HTTP_PORT=0 DATA_DIR="$folder/data" LOG_LEVEL=warn UV_THREADPOOL_SIZE=16 \
  node --enable-source-maps dist/services/standalone/main.js >"$folder/out" 2>"$folder/err" &
tally=$!
stop() {
  kill -INT "$tally" 2>/dev/null || true
  wait "$tally" || true
  rm -rf "$folder"
}
trap stop EXIT
for _ in $(seq 300); do
  grep -q '^Tally serves' "$folder/out" && break
  kill -0 "$tally" 2>/dev/null || { cat "$folder/err"; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/^Tally serves on \(\S*\).*/\1/p' "$folder/out")

# One worker: parsing Python in several threads at once fails now and then ("AST constructor recursion depth mismatch", CPython
# before 3.12). With the key of the test company; without one every answer is 401, which the test suite tries by itself.
"$HOME_OF_TOOLS/bin/schemathesis" --config-file test/contract/schemathesis.toml run "$url/openapi.yaml" \
  --header "x-api-key:$(cat "$folder/data/test-api-key")" --workers 1 "$@"

# What went wrong on our side is in the log, whatever was answered.
if grep -q '"level":[56]0' "$folder/err"; then
  echo 'Tally logged errors:' >&2
  grep '"level":[56]0' "$folder/err" | head -20 >&2
  exit 1
fi
