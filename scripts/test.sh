#!/usr/bin/env bash
# Installs what is needed, builds everything, runs every check and every test.
# The last lines are ctest's summary.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
cd "$repository"

step "Install packages" scripts/setup.sh
step "Configure" cmake --preset ci
step "Build" cmake --build --preset ci
say "==> Tests and checks"
ctest --preset ci
