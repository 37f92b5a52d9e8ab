#!/usr/bin/env bash
# clang-tidy 14 on what changed: clang_tidy.sh <build folder>
#
# The build folder has compile_commands.json and the generated headers. What
# changed is counted from base_commit; a changed header is checked through its
# header test. With no base every model source is due. Every warning is an
# error. After CLANG_TIDY_SECONDS (600) no new file is started; those left out
# are named.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool clang-tidy-14 jq
require_repository
[ $# -eq 1 ] || fail "usage: clang_tidy.sh <build folder>"
cd "$repository"
build="$(cd "$1" && pwd)"
readonly build
[ -f "$build/compile_commands.json" ] ||
  fail "$build has no compile_commands.json; configure it first"

# C++ files that differ from the base, or are new.
changed_files() {
  local base
  if base="$(base_commit)"; then
    say "Compared with $base"
    { repository_git diff -z --name-only --diff-filter=d "$base" -- \
      '*.cc' '*.h'
      repository_git ls-files -z --others --exclude-standard -- \
        '*.cc' '*.h'; } | sort -zu | tr '\0' '\n'
  else
    say "No commit to compare with: every source of model/"
    repository_files 'model/*.cc' | tr '\0' '\n'
  fi
}

# The source that stands for a file in compile_commands.json.
translation_unit() {
  case "$1" in
    *.h) printf '%s/header_tests/%s.cc\n' "$build" "${1//\//_}" ;;
    *) printf '%s/%s\n' "$repository" "$1" ;;
  esac
}

# check_one <source>: quiet but for warnings; past the deadline, its name alone.
check_one() {
  local output status=0 checks=
  # Tests spell out products of small constants, and tables that are long and
  # hold strings of several lines.
  if [[ "$1" == *_test.cc ]]; then
    checks=-bugprone-implicit-widening-of-multiplication-result
    checks+=,-bugprone-suspicious-missing-comma,-readability-function-size
  fi
  # Includes CUDA's own headers, which set a number by half.
  if [[ "$1" == */calibrate/cuda/device_code_test.cc ]]; then
    checks+=,-clang-analyzer-core.uninitialized.Assign
  fi
  if [ "$(date +%s)" -ge "$deadline" ]; then
    say "Out of time, not checked: ${1#"$repository"/}"
    return 0
  fi
  # The compile commands are g++'s: clang does not know all of its warnings.
  output="$(clang-tidy-14 -p "$build" --quiet --checks="$checks" \
    --extra-arg=-Wno-unknown-warning-option "$1" 2>&1)" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '%s\n' "$output"
  fi
  return "$status"
}
export -f check_one say
export build deadline
deadline="$(($(date +%s) + ${CLANG_TIDY_SECONDS:-600}))"

compiled="$(jq -r '.[].file' "$build/compile_commands.json" | sort -u)"
due="$(changed_files | while IFS= read -r path; do
  translation_unit "$path"
done | sort -u)"
mapfile -t sources < <(comm -12 <(printf '%s\n' "$compiled") \
  <(printf '%s\n' "$due") | sed '/^$/d')
say "${#sources[@]} sources"
if [ "${#sources[@]}" -gt 0 ]; then
  # shellcheck disable=SC2016 # The inner bash expands it.
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 1 -P "$(nproc)" bash -c 'check_one "$1"' bash
fi
