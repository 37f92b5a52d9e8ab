#!/usr/bin/env bash
# Draws docs/images/dashboard-*.svg: previews.sh [BUILD_FOLDER]
#
# Runs a server under the load of tests/observability for a minute and a half,
# asks the Prometheus that scrapes it what each panel shows, and draws that. The
# build folder (build/ci) must have observability_test; needs the package
# prometheus.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
cd "$repository"
[ $# -le 1 ] || fail "usage: previews.sh [BUILD_FOLDER]"

readonly test="${1:-build/ci}/tests/observability/observability_test"
[ -x "$test" ] || fail "$test is not built"
results="$(mktemp)"
trap 'rm -f "$results"' EXIT

MANSARD_PREVIEW="$results" "$test" --gtest_filter='LiveTest.*' --gtest_brief=1
[ -s "$results" ] || fail "the test wrote no results; is prometheus installed?"
python3 scripts/lib/dashboard_svg.py "$results" docs/images
say "Drawn: docs/images/dashboard-*.svg"
