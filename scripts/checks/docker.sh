#!/usr/bin/env bash
# An image installs the package of every library that its programs need:
# docker.sh <stage of the Dockerfile> <program>...
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool dpkg-query g++ objdump
[ $# -gt 1 ] || fail "usage: docker.sh <stage> <program>..."
readonly stage="$1"
shift

readonly dockerfile="$repository/deploy/docker/Dockerfile"
# The stage's list: one indented package a line.
installed="$(awk -v stage="$stage" '/^FROM/ { ours = $NF == stage } ours' \
  "$dockerfile" | sed -n '/--no-install-recommends/,/&&/p' |
  sed -n 's/^ *\([a-z0-9][a-z0-9.+-]*\) \\$/\1/p')"
[ -n "$installed" ] || fail "$dockerfile has no stage $stage that installs"
# Part of every Debian image.
readonly always="libc6 libgcc-s1 libstdc++6"
# Loaded while a program runs, and named in none.
readonly loaded="libopenblas0-pthread"

# Where this machine's own libraries lie: a package of another architecture may
# hold one of the same name.
multiarch="$(g++ -print-multiarch)"
readonly multiarch

needed="$(objdump -p "$@" | awk '$1 == "NEEDED" { print $2 }' | sort -u)"
wanted="$(for library in $needed; do
  dpkg-query -S "*/$multiarch/$library" 2>/dev/null | cut -d: -f1 | head -n 1 ||
    fail "no installed package holds $library"
done | sort -u)"
status=0
for package in $wanted; do
  if [[ " $always ${installed//$'\n'/ } " != *" $package "* ]]; then
    say "the image lacks $package"
    status=1
  fi
done
for package in $installed; do
  if [[ " ${wanted//$'\n'/ } $loaded " != *" $package "* ]]; then
    say "the image has $package, which nothing needs"
    status=1
  fi
done
exit "$status"
