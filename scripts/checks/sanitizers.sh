#!/usr/bin/env bash
# The model libraries' tests under AddressSanitizer and
# UndefinedBehaviorSanitizer: sanitizers.sh [--server | --threads]
#
#   --server   also those of the server and of its load. Off by default: the
#              sanitizers make gRPC's templates slow to compile.
#   --threads  instead, the server's and the load's under ThreadSanitizer.
#              Debian's gRPC is not instrumented: races inside a handler that
#              runs on gRPC's threads stay hidden, those on the pool for heavy
#              calls are found.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool cmake ninja g++
cd "$repository"

# The asan preset does without -Wmaybe-uninitialized, which g++ 12 gives falsely
# for Abseil's inlined vectors there.
readonly model=(base_test graph_test hardware_test engine_test step_time_test
  io_test serving_test)
readonly server=(server/server_unit_test server/store_test server/server_test
  tests/load/load_test)
export LSAN_OPTIONS="suppressions=$repository/tests/support/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$repository/tests/support/tsan.supp"

# run <preset> <path of a test below the build folder>...
run() {
  local preset="$1" path
  shift
  cmake --preset "$preset"
  cmake --build --preset "$preset" --target "${@##*/}"
  for path in "$@"; do
    "build/$preset/$path" --gtest_brief=1
  done
}

case "$*" in
  "") run asan "${model[@]/#/model/}" ;;
  --server) run asan "${model[@]/#/model/}" "${server[@]}" ;;
  --threads) run tsan "${server[@]}" ;;
  *) fail "usage: sanitizers.sh [--server | --threads]" ;;
esac
