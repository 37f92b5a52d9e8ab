#!/usr/bin/env bash
# On a machine with CUDA devices: builds mansard-calibrate, measures the first
# visible device, writes its profile and judges predictions on shapes that the
# fit did not see: cuda_proof.sh [FOLDER]
#
# FOLDER (or $OUT; else build/device) gets the record samples.jsonl, the profile,
# and what run and prove print. A second call goes on with the record. BUDGET is
# how long measuring may take (4m), BUILD the build folder (build/device_build).
# Exits 1 where a prediction is off.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
cd "$repository"

readonly out="${1:-${OUT:-build/device}}"
readonly budget="${BUDGET:-4m}"
readonly build="${BUILD:-build/device_build}"
mkdir -p "$out"

if [ ! -x "$build/mansard-calibrate" ]; then
  cmake --preset release -B "$build" >"$out/configure.log"
  cmake --build "$build" --target mansard-calibrate >"$out/build.log"
fi
if command -v nvidia-smi >/dev/null; then nvidia-smi >"$out/nvidia-smi.txt"; fi

"$build/mansard-calibrate" run --backend=cuda --out="$out" \
  --budget="$budget" 2>"$out/run.log" | tee "$out/run.txt"
# Everything is measured by now: it judges on the same record.
"$build/mansard-calibrate" prove --backend=cuda --out="$out" \
  --budget="$budget" 2>"$out/prove.log" | tee "$out/prove.txt"
