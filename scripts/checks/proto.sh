#!/usr/bin/env bash
# The protos pass buf's lint and format, and break nobody: compared with the
# newest tag, or, before there is one, with base_commit.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
readonly buf="$repository/node_modules/.bin/buf"
require_tool "$buf" tar
require_repository
cd "$repository"

"$buf" lint proto
"$buf" format --diff --exit-code proto

if ! base="$(repository_git describe --tags --abbrev=0 2>/dev/null ||
  base_commit)"; then
  say "No tag and no earlier commit: nothing that the protos could break."
  exit 0
fi
if ! repository_git cat-file -e "$base:proto" 2>/dev/null; then
  say "$base has no protos: nothing that these could break."
  exit 0
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
repository_git archive "$base" proto | tar -x -C "$scratch"
say "Comparing with $base"
"$buf" breaking proto --against "$scratch/proto"
