#!/usr/bin/env bash
# The model libraries' tests under AddressSanitizer and
# UndefinedBehaviorSanitizer. Those of the server are left out: the sanitizers
# make gRPC's templates slow to compile.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool cmake ninja g++
cd "$repository"

readonly tests=(base_test graph_test hardware_test engine_test io_test)
export LSAN_OPTIONS="suppressions=$repository/tests/support/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1

cmake --preset asan
cmake --build --preset asan --target "${tests[@]}"
for test in "${tests[@]}"; do
  "build/asan/model/$test" --gtest_brief=1
done
