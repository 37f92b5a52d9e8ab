#!/usr/bin/env bash
# Every C++ and CUDA source is formatted by clang-format 14.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool clang-format-14
require_repository
cd "$repository"

mapfile -d '' -t sources < <(repository_files '*.cc' '*.h' '*.cu' '*.cuh')
[ "${#sources[@]}" -gt 0 ] || fail "found no sources"
if ! violations="$(clang-format-14 --dry-run -Werror "${sources[@]}" 2>&1)"; then
  printf '%s\n' "$violations" | grep -E '^[^ ].*: error: ' | cut -d: -f1,2 |
    sort -u -t: -k1,1 -k2,2n
  fail "to mend: clang-format-14 -i FILE..."
fi
