#!/usr/bin/env bash
# Installs what Mansard needs on Debian 12: setup.sh [--build-only]
#
#   --build-only  only what building `mansard` and `mansardd` needs; without it
#                 also what the tests, the checks and the linters need.
#
# Needs root or sudo. Does nothing where all is there. Starts no daemon. nvcc
# is not installed: without it mansard-calibrate is built without CUDA.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

readonly build_packages=(
  ca-certificates
  cmake
  g++
  libabsl-dev
  libcli11-dev
  libgrpc++-dev
  libnlopt-cxx-dev
  libprotobuf-dev
  libsqlite3-dev
  libyaml-dev
  ninja-build
  pkg-config
  prometheus-cpp-dev
  protobuf-compiler
  protobuf-compiler-grpc
  rapidjson-dev
)
readonly test_packages=(
  ccache
  clang-14
  clang-format-14
  clang-tidy-14
  curl
  git
  jq
  libbenchmark-dev
  libclang-rt-14-dev
  libgmock-dev
  libgtest-dev
  libopenblas0-pthread
  mold
  prometheus
  python3
  python3-grpcio
  python3-yaml
  shellcheck
  systemd
  valgrind
)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "needs root or sudo to run: $*"
  fi
}

# Those of the packages named that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" \
      != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

# Debian starts a daemon when its package is installed. The tests start their
# own prometheus; the system's stays off.
install_packages() {
  local policy=/usr/sbin/policy-rc.d own_policy=no status=0
  say "Installing: $*"
  if [ ! -e "$policy" ]; then
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  { as_root apt-get update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; } ||
    status=$?
  if [ "$own_policy" = yes ]; then
    as_root rm -f "$policy"
  fi
  if [ "$status" -ne 0 ]; then
    fail "apt-get could not install: $*"
  fi
  if [[ " $* " == *" prometheus "* ]] && command -v systemctl >/dev/null; then
    as_root systemctl --quiet disable prometheus.service ||
      fail "prometheus.service could not be disabled"
  fi
}

# buf lints the protos. Its version is pinned by package-lock.json; the
# package works without its install script.
install_buf() {
  local wanted have=none
  wanted="$(sed -n 's/.*"@bufbuild\/buf": "\(.*\)".*/\1/p' \
    "$repository/package.json")"
  if [ -x "$repository/node_modules/.bin/buf" ]; then
    have="$("$repository/node_modules/.bin/buf" --version 2>/dev/null)" ||
      have=broken
  fi
  if [ "$have" != "$wanted" ]; then
    say "Installing: buf $wanted (npm, into node_modules)"
    (cd "$repository" && npm ci --ignore-scripts --loglevel=error >/dev/null) ||
      fail "npm could not install buf"
  fi
}

packages=("${build_packages[@]}")
case "$#:${1-}" in
  0:) packages+=("${test_packages[@]}") ;;
  1:--build-only) ;;
  *) fail "usage: setup.sh [--build-only]" ;;
esac
readonly build_only="${1-}"

if ! command -v dpkg-query >/dev/null; then
  fail "this is no Debian: install by hand what the lists above name"
fi
# node may come from elsewhere, and Debian's npm conflicts with that one.
if [ -z "$build_only" ] &&
  ! { command -v node && command -v npm; } >/dev/null; then
  packages+=(nodejs npm)
fi

mapfile -t missing < <(missing_packages "${packages[@]}")
if [ "${#missing[@]}" -gt 0 ]; then
  install_packages "${missing[@]}"
fi
if [ -z "$build_only" ]; then
  install_buf
fi
if ! command -v "${CUDACXX:-nvcc}" >/dev/null; then
  say "nvcc is not here: mansard-calibrate will be built without CUDA."
fi
