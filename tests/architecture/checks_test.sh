#!/usr/bin/env bash
# The checks find what they are there to find: each passes on a small clean
# repository, and fails once a violation is planted in it.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
require_tool git

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
copy="$scratch/copy"
failures=0

in_copy() {
  git -C "$copy" -c user.name=test -c user.email=test@localhost "$@"
}

# A clean repository with the checks in it, and one commit.
make_copy() {
  rm -rf "$copy"
  mkdir -p "$copy/model/base" "$copy/deploy"
  cp -r "$repository"/{scripts,proto,.clang-format,.clang-tidy} "$copy"
  cp -r "$repository"/deploy/{systemd,kubernetes} "$copy/deploy"
  ln -s "$repository/node_modules" "$copy/node_modules"
  printf '/node_modules\n/build/\n' >"$copy/.gitignore"
  mkdir "$copy/.ci" "$copy/build"
  printf '#!/bin/sh\n' >"$copy/.ci/run"
  printf 'namespace mansard {\nint Two() { return 2; }\n}  // namespace mansard\n' \
    >"$copy/model/base/two.cc"
  printf '[{"directory": "%s", "file": "%s", "command": "g++ -c %s"}]' \
    "$copy" "$copy/model/base/two.cc" "$copy/model/base/two.cc" \
    >"$copy/build/compile_commands.json"
  in_copy init --quiet --initial-branch=main
  in_copy add --all
  in_copy commit --quiet --message=clean
}

# expect pass|fail <title> <check> <argument>...
expect() {
  local wanted="$1" title="$2" check="$copy/scripts/checks/$3" got=pass
  shift 3
  "$check" "$@" >"$scratch/output" 2>&1 || got=fail
  if [ "$got" != "$wanted" ]; then
    printf '%s: %s should %s\n' "$title" "$(basename "$check")" "$wanted"
    cat "$scratch/output"
    failures=$((failures + 1))
  fi
}

make_copy
for check in format hygiene proto shell systemd; do
  expect pass "clean" "$check.sh"
done
expect pass "clean" clang_tidy.sh "$copy/build"
expect pass "clean" kubernetes.py

printf 'int  Two();\n' >"$copy/model/base/bad.h"
expect fail "two blanks" format.sh
rm "$copy/model/base/bad.h"

for text in '/wo''rk/main' '"/ro''ot/x"' 'ht''tps://registry.example/buf'; do
  printf '%s\n' "$text" >"$copy/model/notes.txt"
  expect fail "$text in a file" hygiene.sh
done
printf 'shared/wo''rk/main\n' >"$copy/model/notes.txt"
expect pass "a relative path" hygiene.sh
rm "$copy/model/notes.txt"
touch "$copy/model/two.o"
expect fail "an object file" hygiene.sh
rm "$copy/model/two.o"
cp /bin/true "$copy/model/two"
expect fail "a program" hygiene.sh
rm "$copy/model/two"

# shellcheck disable=SC2016 # A violation, not to be expanded.
printf '#!/bin/sh\nrm $1\n' >"$copy/scripts/bad.sh"
expect fail "an unquoted variable" shell.sh
rm "$copy/scripts/bad.sh"

printf 'syntax = "proto3";\npackage mansard.v1;\n\nmessage bad {}\n' \
  >"$copy/proto/mansard/v1/bad.proto"
expect fail "a lower-case message" proto.sh
rm "$copy/proto/mansard/v1/bad.proto"
printf 'syntax = "proto3";\npackage mansard.v1;\n\nmessage Good {\n  int32 one = 1;\n}\n' \
  >"$copy/proto/mansard/v1/good.proto"
expect pass "a new message" proto.sh
in_copy add --all
in_copy commit --quiet --message=good
in_copy tag v1
sed -i 's/int32 one/int64 one/' "$copy/proto/mansard/v1/good.proto"
expect fail "a field that changes its type, not committed" proto.sh
in_copy commit --quiet --all --message=breaking
expect fail "the same, committed, against the tag" proto.sh
in_copy tag --delete v1 >/dev/null
expect fail "the same, against the commit before" proto.sh

unit="$copy/deploy/systemd/mansardd.service"
sed -i 's/^NoNewPrivileges/NoNewPrivilege/' "$unit"
expect fail "an unknown key" systemd.sh
sed -i '/^NoNewPrivilege/d; /^Protect/d; /^SystemCall/d' "$unit"
expect fail "an open unit" systemd.sh

timer="$copy/deploy/systemd/mansard-calibrate.timer"
make_copy
sed -i 's/^OnCalendar=.*/OnCalendar=sometimes/' "$timer"
expect fail "a time that is none" systemd.sh

manifest="$copy/deploy/kubernetes/calibrate-cronjob.yaml"
# expect_refused <title> <sed command>: of the manifest, which is then restored.
expect_refused() {
  sed -i "$2" "$manifest"
  if cmp -s "$manifest" "$repository/deploy/kubernetes/calibrate-cronjob.yaml"; then
    printf '%s: changes nothing\n' "$1"
    failures=$((failures + 1))
  fi
  expect fail "$1" kubernetes.py
  cp "$repository/deploy/kubernetes/calibrate-cronjob.yaml" "$manifest"
}
expect_refused "a privileged pod" 's/privileged: false/privileged: true/'
expect_refused "a key that is not known" 's/runAsNonRoot:/runAsNoRoot:/'
expect_refused "a token of the cluster" '/automountServiceAccountToken/d'
expect_refused "a capability" 's/drop: \["ALL"\]/add: ["SYS_ADMIN"]/'
expect_refused "a secret" 's/name: MANSARD_SERVER/name: MANSARD_TOKEN/'
expect_refused "another folder of the node" 's#path: /run/mansard#path: /etc#'
expect_refused "no limit" '/memory: 16Gi/d'
expect_refused "no version" 's/mansard-calibrate:0.1.0/mansard-calibrate/'
expect_refused "no YAML" 's/^spec:/spec: [/'

make_copy
printf 'int twice(int x) { int* unused = 0; return x * 2; }\nint kWrong_name = 1;\n' \
  >>"$copy/model/base/two.cc"
expect fail "a name of another style" clang_tidy.sh "$copy/build"
expect fail "no compile commands" clang_tidy.sh "$scratch"

if [ "$failures" -gt 0 ]; then
  fail "$failures failures"
fi
