#!/usr/bin/env bash
# Writes docs/accuracy.md: how the shipped stacks hold up against the measured
# tables of a folder. accuracy.sh FOLDER [MANSARD]
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  say "usage: scripts/accuracy.sh FOLDER [MANSARD]"
  exit 2
fi
folder="$1"
mansard="${2:-$repository/build/release/mansard}"
[ -x "$mansard" ] || fail "$mansard is no program; build it, or name another"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# A header alone tells whether the program knows the table.
tables=()
for table in "$folder"/*.csv; do
  head -n 1 "$table" >"$scratch/header.csv"
  if "$mansard" validate --measured "$scratch/header.csv" -q >/dev/null 2>&1; then
    tables+=("$table")
  else
    say "$(basename "$table"): no table of measured kernels, left out"
  fi
done
[ ${#tables[@]} -gt 0 ] || fail "$folder has no table of measured kernels"

{
  cat <<'TEXT'
# Accuracy

Every prediction of the shipped kernel stacks against public measurements, on
rows that no fit has seen: half of all shapes, chosen by a hash of the shape, the
same ones for every device and engine. Written by `scripts/accuracy.sh`.

- **MAPE, P50, P90, bias**: mean, median and 90th percentile of the error's size
  and mean of the error, in percent of the measured time, of the rows that the
  target is about.
- **in range**: of those rows, the share measured between p10 and p90.
- **roofline**: the MAPE of max(FLOP / peak, bytes / bandwidth) on the same rows;
  of collectives, of bytes on the wire / link bandwidth.
- **all rows**: the MAPE of all answered rows, those beyond the target's too.
- **target**: of the mean, but of the median for experts.
- By table and device: means over the slices, by their rows.
- `fp8_scale_and_cast` casts with a scale that is known; the stacks' quantisation
  finds its scales first and is fitted inside products with it, so these rows judge
  a kernel that no stack has.
TEXT
  "$mansard" validate -o csv \
    --measured "$(IFS=, && printf '%s' "${tables[*]}")" |
    python3 "$repository/scripts/lib/accuracy_report.py"
} >"$scratch/accuracy.md"
mkdir -p "$repository/docs"
cp "$scratch/accuracy.md" "$repository/docs/accuracy.md"
