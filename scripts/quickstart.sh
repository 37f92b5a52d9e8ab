#!/usr/bin/env bash
# From a bare Debian 12 to a first answer: installs what building needs, builds
# the client and the server, and asks how long one decode step takes.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
cd "$repository"

step "Install packages" scripts/setup.sh --build-only
step "Configure" cmake --preset release
step "Build" cmake --build --preset release --target mansard mansardd
build/release/mansard estimate \
  --model llama-3.1-8b --hardware h100-sxm \
  --phase decode --batch 1 --context 1024 --ops --waterfall
