#!/usr/bin/env bash
# The units are valid, and as closed as they can be: systemd-analyze's exposure
# level (0 to 10) of a service stays at or below 1.5.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool systemd-analyze
cd "$repository"

readonly max_exposure=15 # In tenths.
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# verify wants the program to exist, and its file of settings; they are not
# installed here. A timer is valid beside its service.
for unit in deploy/systemd/*.{service,timer}; do
  sed -e 's#^ExecStart=/usr/bin/[a-z-]*#ExecStart=/bin/true#' \
    -e 's#^EnvironmentFile=/#EnvironmentFile=-/#' "$unit" \
    >"$scratch/$(basename "$unit")"
done
for unit in deploy/systemd/*.{service,timer}; do
  copy="$scratch/$(basename "$unit")"
  # It exits 0 on an unknown key, but says so.
  if ! messages="$(systemd-analyze verify --man=no "$copy" 2>&1)" ||
    [[ "$messages" == *"$(basename "$unit")"* ]]; then
    printf '%s\n' "$messages"
    fail "$unit is not valid"
  fi
  [[ "$unit" == *.service ]] || continue
  systemd-analyze security --offline=yes --no-pager \
    --threshold="$max_exposure" "$copy" >"$scratch/exposure" || {
    cat "$scratch/exposure"
    fail "$unit is exposed more than $max_exposure"
  }
  tail -n 1 "$scratch/exposure"
done
