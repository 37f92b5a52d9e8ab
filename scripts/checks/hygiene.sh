#!/usr/bin/env bash
# No file of the repository names a path of one machine or an address on the web
# (a registry's, say), and no build output lies among the sources.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
require_repository
cd "$repository"

# Bracketed, so that this file does not match itself.
readonly machine_paths='(^|[^[:alnum:]_./}-])/([w]ork|[r]oot|[h]ome/[a-z]+)/'
# Loopback is what the documents show.
readonly web_addresses='[h]ttps?://([^1l$%]|1[^2]|l[^o])'
readonly build_outputs='\.(o|a|so|d|pyc|gcda|gcno|gch)$|\.(grpc\.)?pb\.(h|cc)$|(^|/)(CMakeCache\.txt|CMakeFiles|build\.ninja|\.ninja_(log|deps)|compile_commands\.json|cmake_install\.cmake|Testing|node_modules|__pycache__|core)(/|$)'

status=0
# report <title> <lines>: a violation for each line.
report() {
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2"
    status=1
  fi
}

# grep's exit 1 is "nothing found".
matches() { xargs -0 grep -nIE -e "$1" -- /dev/null || [ $? -le 123 ]; }

report "Paths of one machine" "$(repository_files . | matches "$machine_paths")"
# Not an address but the name of a format, which every such file must bear.
readonly svg_namespace='[h]ttp://www\.w3\.org/2000/svg'
report "Addresses on the web" "$(
  repository_files . | matches "$web_addresses" |
    sed -E "s#$svg_namespace##g" | grep -E "$web_addresses" || true
)"
report "Build outputs among the sources" \
  "$(repository_files . | tr '\0' '\n' | grep -E "$build_outputs" || true)"
report "Compiled files among the sources" "$(
  repository_files . |
    LC_ALL=C xargs -0 grep -lUaP '^\x7fELF' -- /dev/null || [ $? -le 123 ]
)"
exit "$status"
