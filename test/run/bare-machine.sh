#!/usr/bin/env bash
# `npm ci && npm test` as on a new machine: of a copy of this checkout, in an empty home, with a PATH of Node and a shell alone.
# What needs a server, Java or curl is pending there, and told at the end.
#
#   test/run/bare-machine.sh                  # both
#   test/run/bare-machine.sh install FOLDER   # makes the machine in an empty folder, with `npm ci`
#   test/run/bare-machine.sh test FOLDER      # runs `npm test` on it, and deletes it
set -euo pipefail
cd "$(dirname "$0")/../.."

install() {
  chmod o+x "$machine" # PostgreSQL runs as a user of its own when we are root
  mkdir -p "$machine"/{bin,home,tmp,tally}
  chmod o+rwxt "$machine/tmp"

  # What git would commit, deleted files left out.
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ -e "$file" ] && printf '%s\0' "$file"
  done | tar --null --files-from=- -cf - | tar -xf - -C "$machine/tally"

  for program in node npm npx sh; do
    ln -s "$(command -v "$program")" "$machine/bin/$program"
  done
  on_machine 'npm ci'
}

on_machine() {
  (cd "$machine/tally" && env -i HOME="$machine/home" TMPDIR="$machine/tmp" PATH="$machine/bin" sh -c "$1")
}

work=${1:-both}
machine=${2:-$(mktemp -d)}
if [ "$work" != install ]; then trap 'rm -rf "$machine"' EXIT; fi
if [ "$work" != test ]; then install; fi
if [ "$work" != install ]; then on_machine 'npm test'; fi
