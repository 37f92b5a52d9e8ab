#!/usr/bin/env bash
# The doors that bytes of unknown origin come through, under libFuzzer with the
# address and undefined sanitizers: fuzz.sh [<seconds a target>]
#
# Default: 60 seconds a target. Starts from tests/fuzz/seeds, which stay as they
# are; no two runs are alike. A finding fails; its input is kept in
# build/fuzz/findings.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool cmake ninja clang++-14 protoc
cd "$repository"

readonly seconds="${1:-60}"
[[ $# -le 1 && "$seconds" =~ ^[1-9][0-9]*$ ]] ||
  fail "usage: fuzz.sh [<seconds a target>]"
readonly targets=(config_fuzz data_fuzz import_fuzz request_fuzz scheduling_fuzz)
readonly limits=(-max_len=65536 -timeout=5 -rss_limit_mb=2048)
readonly build=build/fuzz findings=build/fuzz/findings
export LSAN_OPTIONS="suppressions=$repository/tests/support/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# Requests go in as the wire has them, behind the byte that names the method.
encode_requests() {
  local file message selector service
  mkdir -p "$scratch/request_seeds" "$scratch/scheduling_seeds"
  for file in tests/fuzz/seeds/{request,scheduling}/*.textproto; do
    service=scheduling
    case "$(basename "$file" .textproto)" in
      estimate_*) service=estimation message=EstimateRequest selector=0 ;;
      kernel_*) service=estimation message=EstimateKernelRequest selector=1 ;;
      recommend_*) message=RecommendBatchSizeRequest selector=0 ;;
      latencies*) message=PredictLatenciesRequest selector=1 ;;
      steps) message=PredictStepsRequest selector=2 ;;
      capacity*) message=FindEngineCapacityRequest selector=3 ;;
      fit) message=FitLatencyModelRequest selector=4 ;;
      message) message=StreamPredictionsRequest selector=5 ;;
      *) fail "$file: the name says no method" ;;
    esac
    {
      printf '%s' "$selector"
      protoc --proto_path=proto --encode="mansard.v1.$message" \
        "mansard/v1/${service}_service.proto" <"$file"
    } >"$scratch/$(basename "$(dirname "$file")")_seeds/$(basename "$file" .textproto)"
  done
}

# run_target <target>: fails on a finding, and says how to see it again.
run_target() {
  local target="$1" name="${1%_fuzz}" seeds status=0
  seeds="tests/fuzz/seeds/$name"
  if [ -d "$scratch/${name}_seeds" ]; then
    seeds="$scratch/${name}_seeds"
  fi
  mkdir "$scratch/$target"
  "$build/$target" "${limits[@]}" -max_total_time="$seconds" \
    -print_final_stats=1 -artifact_prefix="$findings/$target-" \
    "$scratch/$target" "$seeds" >"$scratch/log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    say "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' \
      "$scratch/log") inputs, $(sed -n \
      's/^stat::average_exec_per_sec: *//p' "$scratch/log") a second"
    return 0
  fi
  tail -n 100 "$scratch/log" >&2
  say "$target: a finding. Again: $(sed -n \
    "s|^.*Test unit written to |$build/$target ${limits[*]} |p" "$scratch/log")"
  return 1
}

cmake --preset fuzz
cmake --build --preset fuzz
mkdir -p "$findings"
encode_requests
failed=0
for target in "${targets[@]}"; do
  run_target "$target" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ] || fail "$failed of ${#targets[@]} targets have a finding"
