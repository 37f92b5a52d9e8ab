#!/usr/bin/env bash
# Every shell script passes shellcheck.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_tool shellcheck
require_repository
cd "$repository"

repository_files '*.sh' .ci/run 'deploy/calibrate/*' | xargs -0 shellcheck --external-sources
