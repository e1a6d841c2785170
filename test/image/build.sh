#!/usr/bin/env bash
# Builds both images of Dockerfile, looks at what is in them, and runs a service of one and `npm start` of the other. It
# needs root, buildah and mmdebstrap, and no registry of images: the base is a Debian that is made here, with Node from npm.
set -euo pipefail
cd "$(dirname "$0")/../.."

NODE=24
# The cache has what does not depend on Tally: the base, and packages of npm.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tally-image
work=$(mktemp -d)
export BUILDAH_ISOLATION=chroot
build() { buildah --root "$work/images" --runroot "$work/run" "$@"; }
finish() {
  [ -z "${tally-}" ] || kill -KILL $tally 2> /dev/null || true
  [ -z "${root-}" ] || ! mountpoint -q "$root/proc" || umount "$root/proc"
  build rm --all > /dev/null
  rm -rf "$work"
}
trap finish EXIT
fail() {
  echo "$*" >&2
  exit 1
}

# A Debian with Node and npm, and the authorities that this machine trusts.
mkdir -p "$cache"
if [ ! -e "$cache/debian.tar" ]; then
  mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$cache/debian.part"
  mv "$cache/debian.part" "$cache/debian.tar"
fi
npm install --silent --no-save --prefix "$cache/node" "node@$NODE" npm@11
base=$(build from scratch)
build add --quiet "$base" "$cache/debian.tar" / > /dev/null
build copy --quiet "$base" "$cache/node/node_modules/node/bin/node" /usr/local/bin/ > /dev/null
build copy --quiet "$base" "$cache/node/node_modules/npm" /usr/local/lib/node_modules/npm > /dev/null
build copy --quiet "$base" /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ > /dev/null
build run "$base" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
build config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$base"
build commit --quiet "$base" tally-base > /dev/null

for target in services standalone; do
  build build --quiet --pull-never --layers --build-arg BASE=localhost/tally-base --target "$target" \
    --volume "$(npm config get cache):/root/.npm" --tag "tally-$target" . > /dev/null
done

# Leaves the folder of a container's files in `root`.
mounted() {
  container=$(build from --pull-never "localhost/tally-$1")
  root=$(build mount "$container")
}
megabytes() { du --summarize --block-size=1M "$1" | cut -f 1; }

mounted base
base_mb=$(megabytes "$root")
mounted services
services_mb=$(($(megabytes "$root") - base_mb))
[ "$services_mb" -le 130 ] || fail "services is $services_mb MB above its base"
found=$(find "$root/app" -type f \( -name 'libchdb*' -o -name postgres -o -name initdb -o -name tsc \) | head -3)
[ -z "$found" ] || fail "services has what only standalone or a build needs: $found"
# /tmp and the like may be written by everybody, in every Debian.
found=$(find "$root" -xdev ! -type l \( -user 10001 -o -group 10001 -o -perm -o+w \) ! -path "$root/tmp" \
  ! -path "$root/var/tmp" ! -path "$root/run/lock" ! -path "$root/dev*" ! -path "$root/proc*" | head -3)
[ -z "$found" ] || fail "services has what its user may write: $found"
for fact in 'User=10001:10001' 'Entrypoint=[node --enable-source-maps]'; do
  value=$(build inspect --format "{{.OCIv1.Config.${fact%%=*}}}" localhost/tally-services)
  [ "$value" = "${fact#*=}" ] || fail "services: ${fact%%=*} is $value"
done

# The services of the image, as its user, through a suite of tests. Without a server, one line says what is missing.
as_user=(chroot --userspec=10001:10001)
mount --bind /proc "$root/proc"
said=$(DATA_DIR=/tmp/tally "${as_user[@]}" "$root" node /app/dist/services/standalone/main.js 2>&1 || true)
case $said in *'the embedded PostgreSQL is not installed'*) ;; *) fail "services, without a server: $said" ;; esac
TEST_IMAGE_ROOT=$root TEST_ONLY=services/processes node_modules/.bin/mocha
umount "$root/proc"

mounted standalone
standalone_mb=$(($(megabytes "$root") - base_mb))
mount --bind /proc "$root/proc"
DATA_DIR=/data PORT=0 ADMIN_PORT=0 CLICKHOUSE_HTTP_PORT=0 "${as_user[@]}" "$root" \
  node /app/dist/services/standalone/main.js > "$work/said" 2>&1 &
tally=$!
for _ in $(seq 300); do
  grep -q '^Tally serves on' "$work/said" && break
  kill -0 $tally 2> /dev/null || fail "standalone does not start: $(cat "$work/said")"
  sleep 0.2
done
probes=$(sed -n 's/^Probes and metrics are on \(.*\)\.$/\1/p' "$work/said")
node -e "fetch('$probes/readyz').then((r) => process.exit(r.ok ? 0 : 1))" || fail 'standalone is not ready'
kill -TERM $tally
wait $tally || fail "standalone ended with $?"
umount "$root/proc"
echo "above the base: services $services_mb MB, standalone $standalone_mb MB"
