# Sourced by the scripts: where the repository is, how to say things, what a
# missing tool means. Needs bash with `set -euo pipefail`.
# shellcheck shell=bash

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export repository

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$(basename "$0"): $*"
  exit 1
}

# require_tool <command>...: fails, with what to do, when one is missing.
require_tool() {
  local tool
  for tool in "$@"; do
    if ! command -v "$tool" >/dev/null; then
      fail "$tool is not installed; scripts/setup.sh installs all that is needed"
    fi
  done
}

# step <title> <command>...: runs it between a heading and its seconds.
step() {
  local title="$1" start=$SECONDS status=0
  shift
  printf '==> %s\n' "$title"
  "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '==> %s: FAILED (exit %d) after %d s\n' \
      "$title" "$status" "$((SECONDS - start))"
    return "$status"
  fi
  printf '==> %s: %d s\n' "$title" "$((SECONDS - start))"
}

# git in the repository, whoever owns the checkout.
repository_git() {
  git -c safe.directory="$repository" -C "$repository" "$@"
}

# Fails outside a git checkout: a check that sees no files would pass.
require_repository() {
  require_tool git
  repository_git rev-parse --git-dir >/dev/null 2>&1 ||
    fail "$repository is no git checkout"
}

# repository_files [<pattern>...]: what is tracked, or new and not ignored, as
# NUL-separated paths from the repository root. Patterns are git pathspecs.
repository_files() {
  local path
  repository_git ls-files -z --cached --others --exclude-standard -- "$@" |
    while IFS= read -r -d '' path; do
      if [ -f "$repository/$path" ]; then
        printf '%s\0' "$path"
      fi
    done
}

# base_commit: the commit that the work at hand is compared with. Where the
# branch has left main: the place. On main: HEAD while tracked files differ from
# it, else the commit before. Fails where there is none (a first commit, a
# shallow clone).
base_commit() {
  local head base branch
  head="$(repository_git rev-parse --quiet --verify HEAD)" || return 1
  for branch in origin/main main; do
    base="$(repository_git merge-base "$branch" HEAD 2>/dev/null)" || continue
    if [ "$base" != "$head" ]; then
      printf '%s\n' "$base"
      return 0
    fi
  done
  if [ -n "$(repository_git status --porcelain --untracked-files=no)" ]; then
    printf '%s\n' "$head"
    return 0
  fi
  repository_git rev-parse --quiet --verify HEAD~1
}
