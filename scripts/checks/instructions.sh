#!/usr/bin/env bash
# Instructions that the engine takes for one call, stage by stage, against those
# recorded in tests/bench/engine_instructions.txt: instructions.sh
#
# Counted by callgrind on a Release build of the engine's libraries alone, in
# build/instructions. Times vary with the machine, counts do not: more than 5 %
# above the record fails. UPDATE_GOLDENS=1 rewrites the record. Another compiler
# makes other code: the check then says so and passes.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool cmake ninja g++ valgrind
[ $# -eq 0 ] || fail "usage: instructions.sh"
cd "$repository"

readonly record=tests/bench/engine_instructions.txt
readonly build=build/instructions
readonly program="$build/tests/bench/engine_instructions"
readonly calls=200
readonly tolerance_percent=5

# The compiler of the build and its version.
compiler_of_build() {
  local compiler
  compiler="$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")"
  printf '%s %s\n' "$(basename "$(readlink -f "$compiler")")" \
    "$("$compiler" -dumpfullversion)"
}

# count <stage> <model>: instructions of one call.
count() {
  local log collected
  log="$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    --toggle-collect=MansardCountedCalls "$program" "$1" "$2" "$calls" 2>&1)" ||
    fail "$1 of $2 under callgrind: $log"
  collected="$(printf '%s\n' "$log" | sed -n 's/^==.*Collected : *//p')"
  [[ "$collected" =~ ^[1-9][0-9]*$ ]] ||
    fail "$1 of $2: callgrind collected nothing: $log"
  printf '%d\n' "$((collected / calls))"
}

# compare <stage> <model> <count>: fails where the count is above the record's.
compare() {
  local recorded change
  recorded="$(awk -v stage="$1" -v model="$2" \
    '$1 == stage && $2 == model { print $3 }' "$record")"
  if [ -z "$recorded" ]; then
    say "$1 of $2: $3 instructions, none recorded; UPDATE_GOLDENS=1 records it"
    return 1
  fi
  change="$(awk -v now="$3" -v then="$recorded" \
    'BEGIN { printf "%+.1f", 100 * (now / then - 1) }')"
  printf '%-15s %-13s %6d, recorded %6d (%s %%)\n' "$1" "$2" "$3" "$recorded" \
    "$change"
  if [ "$(($3 * 100))" -gt "$((recorded * (100 + tolerance_percent)))" ]; then
    say "$1 of $2 takes $3 instructions, $recorded are recorded:" \
      "$change %, allowed +$tolerance_percent %. Make it shorter, or record" \
      "with UPDATE_GOLDENS=1 why it must be longer"
    return 1
  fi
  if [ "$(($3 * 100))" -lt "$((recorded * (100 - tolerance_percent)))" ]; then
    say "$1 of $2 became shorter: record it with UPDATE_GOLDENS=1"
  fi
}

cmake --preset release -B "$build" -DMANSARD_BUILD_TESTS=ON \
  -DMANSARD_BUILD_CUDA=OFF >/dev/null
cmake --build "$build" --target engine_instructions

compiler="$(compiler_of_build)"
readonly compiler
if [ -n "${UPDATE_GOLDENS-}" ]; then
  {
    printf '# Instructions of one call, by scripts/checks/instructions.sh, which\n'
    printf '# UPDATE_GOLDENS=1 makes write this file.\n'
    printf 'compiler %s\n' "$compiler"
    "$program" | while read -r stage model; do
      printf '%s %s %s\n' "$stage" "$model" "$(count "$stage" "$model")"
    done
  } >"$build/record.txt"
  mv "$build/record.txt" "$record"
  exit 0
fi

recorded_compiler="$(sed -n 's/^compiler //p' "$record")"
if [ "$recorded_compiler" != "$compiler" ]; then
  say "Not checked: the compiler is $compiler, the counts are of" \
    "$recorded_compiler"
  exit 0
fi
failed=0
while read -r stage model; do
  compare "$stage" "$model" "$(count "$stage" "$model")" ||
    failed=$((failed + 1))
done < <("$program")
[ "$failed" -eq 0 ] || fail "$failed counts are above the record"
