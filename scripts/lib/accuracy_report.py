#!/usr/bin/env python3
"""Judgements as csv (mansard validate -o csv) to the body of docs/accuracy.md."""

import csv
import sys
from collections import defaultdict


def percent(row, name):
    value = row[name]
    return 100 * float(value) if value else None


def text(value):
    return "-" if value is None else f"{value:.1f}"


def judged(row):
    """What the target is about: mean or median."""
    kind = "median" if row["target_statistic"] == "median" else "mean"
    return percent(row, f"in_target_{kind}_ratio")


def over(row):
    return judged(row) - 100 * float(row["target_ratio"])


def table(header, rows, left):
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join("---" if i < left else "---:"
                         for i in range(len(header))) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def weighted(rows, name):
    total = sum(int(r["in_target_row_count"]) for r in rows)
    return sum(percent(r, name) * int(r["in_target_row_count"])
               for r in rows) / total


def summary(rows):
    groups = defaultdict(list)
    for row in rows:
        groups[row["table"], row["device"]].append(row)
    lines = []
    for (name, device), own in sorted(groups.items()):
        aimed = [r for r in own if r["target_ratio"]]
        within = sum(over(r) <= 0 for r in aimed)
        lines.append([
            name, device, str(len(own)),
            f"{within} of {len(aimed)}" if aimed else "-",
            str(sum(int(r["in_target_row_count"]) for r in own)),
            text(weighted(own, "in_target_mean_ratio")),
            text(weighted(own, "in_target_median_ratio")),
            text(weighted(own, "in_target_in_range_ratio")),
            text(weighted(own, "in_target_roofline_mean_ratio"))])
    table(["table", "device", "slices", "within target", "rows", "MAPE %",
           "P50 %", "in range %", "roofline %"], lines, 2)


def slices(rows):
    table(["table", "device", "software", "slice", "rows", "MAPE %", "P50 %",
           "P90 %", "bias %", "target %", "in range %", "roofline %",
           "all rows %"],
          [[r["table"], r["device"],
            f'{r["framework"]} {r["framework_version"]}'.strip(), r["slice"],
            r["in_target_row_count"],
            text(percent(r, "in_target_mean_ratio")),
            text(percent(r, "in_target_median_ratio")),
            text(percent(r, "in_target_p90_ratio")),
            text(percent(r, "in_target_bias_ratio")),
            text(percent(r, "target_ratio")),
            text(percent(r, "in_target_in_range_ratio")),
            text(percent(r, "in_target_roofline_mean_ratio")),
            text(percent(r, "all_mean_ratio"))] for r in rows], 4)


def main():
    rows = [r for r in csv.DictReader(sys.stdin)
            if int(r["in_target_row_count"] or 0) > 0 and r["in_target_mean_ratio"]]
    fitted = [r for r in rows if r["tier"] == "calibrated"]
    rest = [r for r in rows if r["tier"] != "calibrated"]
    aimed = [r for r in fitted if r["target_ratio"]]
    missed = sorted((r for r in aimed if over(r) > 0), key=over, reverse=True)
    met = sorted((r for r in aimed if over(r) <= 0), key=over, reverse=True)
    free = [r for r in fitted if not r["target_ratio"]]
    print("\n## Calibrated stacks, by table and device\n")
    summary(fitted)
    print("## Above their target, the furthest first\n")
    slices(missed)
    print("## Within their target\n")
    slices(met)
    print("## Without a target\n")
    slices(free)
    print("## Datasheet and defaults: devices and software without a fit\n")
    summary(rest)


if __name__ == "__main__":
    main()
