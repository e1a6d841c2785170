#!/usr/bin/env bash
# Upgrades services of the version before, and goes back: the commit of base.json, until there is a release. It needs the
# history of git, nginx, and what the tests on Kafka need.
set -euo pipefail
cd "$(dirname "$0")/../.."

commit=$(node -p 'require("./test/upgrade/base.json").commit')
git cat-file -e "$commit^{commit}" 2> /dev/null || {
  echo "the history lacks $commit: git fetch --unshallow" >&2
  exit 1
}
work=$(mktemp -d)
base=$work/base
finish() {
  git worktree remove --force "$base" 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT
git worktree add --quiet --detach "$base" "$commit"
(cd "$base" && npm ci --silent)

# Service by service, under load, and back again.
REQUIRE_NGINX=1 REQUIRE_KAFKA=1 TEST_UPGRADE_BASE=$base TEST_ONLY=long/upgrade-under-load \
  node_modules/.bin/mocha --config test/run/long.mocharc.cjs
