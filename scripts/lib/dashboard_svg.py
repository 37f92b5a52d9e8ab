#!/usr/bin/env python3
"""Draws dashboards from query results: dashboard_svg.py RESULTS OUT_FOLDER

RESULTS is what tests/observability's live test writes with MANSARD_PREVIEW.
Writes dashboard-<name>.svg for each file of deploy/grafana/dashboards. This is
no Grafana: places, titles, units, colours and legends are the dashboard's, the
drawing is simple. Standard library alone.
"""

import html
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CELL_W, CELL_H, GAP = 58, 30, 8
TOP = 54
# Grafana's classic palette is not ours to copy; ten colours told apart.
PALETTE = ("#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#37a2a0",
           "#b8860b", "#7d64b5", "#c15c8c", "#6e7d8c")
NAMED = {"green": "#3d9a50", "orange": "#e0752d", "red": "#d64550",
         "blue": "#3274d9", "text": "#1f2328", "transparent": "none"}


def escaped(text):
    return html.escape(str(text), quote=False)


def short(value, unit):
    """A number in a unit of Grafana, short."""
    if value is None or math.isnan(value):
        return "no data"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        for limit, factor, name in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"),
                                    (120, 1, "s"), (7200, 1 / 60, "min"),
                                    (172800, 1 / 3600, "h")):
            if abs(value) < limit:
                return f"{value * factor:.3g} {name}" if value else "0 s"
        return f"{value / 86400:.3g} d"
    ending = {"reqps": "/s", "bytes": "B", "Bps": "B/s", "flops": "FLOP/s"}
    ending = ending.get(unit, "")
    if ending == "/s" and 0 < abs(value) < 1000:
        return f"{value:.3g} /s"
    for limit, name in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"),
                        (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {name}{ending}"
    return f"{value:.3g} {ending}".strip()


def legend_of(labels, pattern):
    if pattern == "__auto" or not pattern:
        return ", ".join(v for k, v in sorted(labels.items())
                         if k not in ("__name__", "job", "instance")) or "value"
    return re.sub(r"{{\s*(\w+)\s*}}", lambda m: labels.get(m[1], ""), pattern)


def ticks_of(low, high):
    """Round numbers around both, four to six."""
    span = high - low
    if span <= 0:
        return [low, low + 1]
    power = 10 ** math.floor(math.log10(span / 5))
    step = next(f * power for f in (1, 2, 2.5, 5, 10)
                if span / (f * power) <= 5.001)
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    return [i * step for i in range(first, last + 1)]


def clipped(text, width, size=11):
    most = max(3, int(width / (size * 0.56)))
    return text if len(text) <= most else text[:most - 1] + "…"


class Svg:
    def __init__(self, width, height):
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="system-ui, sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="#f4f5f5"/>',
        ]

    def rect(self, x, y, w, h, fill, more=""):
        self.out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(w, 0):.1f}" '
                        f'height="{max(h, 0):.1f}" fill="{fill}" {more}/>')

    def text(self, x, y, text, size=11, fill="#1f2328", more=""):
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
                        f'fill="{fill}" {more}>{escaped(text)}</text>')

    def line(self, points, color, width=1.3, more='fill="none"'):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.out.append(f'<polyline points="{path}" stroke="{color}" '
                        f'stroke-width="{width}" {more}/>')

    def polygon(self, points, fill):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.out.append(f'<polygon points="{path}" fill="{fill}" '
                        'fill-opacity="0.75"/>')

    def done(self):
        return "\n".join(self.out + ["</svg>", ""])


class Panel:
    """One panel with what its targets answered."""

    def __init__(self, panel, file, results):
        self.panel = panel
        self.kind = panel["type"]
        self.defaults = panel.get("fieldConfig", {}).get("defaults", {})
        self.unit = self.defaults.get("unit", "none")
        self.series = []  # (legend, labels, [(time, value)])
        for target in panel.get("targets", []):
            key = f"{file}: {panel['title']} {target['refId']}"
            for one in results[key]:
                values = [(t, float(v)) for t, v in one["values"]]
                self.series.append((legend_of(one["metric"],
                                              target.get("legendFormat", "")),
                                    one["metric"], values))
        self.colors = {
            o["matcher"]["options"]: o["properties"][0]["value"]["fixedColor"]
            for o in panel.get("fieldConfig", {}).get("overrides", [])
        }

    def color(self, index, legend):
        return self.colors.get(legend, PALETTE[index % len(PALETTE)])

    def threshold_color(self, value):
        color = "text"
        for step in self.defaults.get("thresholds", {}).get("steps", []):
            if step["value"] is None or (value is not None and
                                         value >= step["value"]):
                color = step["color"]
        return NAMED.get(color, color)

    def last(self, values):
        finite = [v for _, v in values if math.isfinite(v)]
        return finite[-1] if finite else None

    def draw(self, svg, x, y, w, h):
        svg.rect(x, y, w, h, "#ffffff", 'stroke="#d8dbe0" rx="3"')
        svg.text(x + 8, y + 16, clipped(self.panel["title"], w - 16, 12), 12,
                 more='font-weight="600"')
        inner = (x + 8, y + 24, w - 16, h - 32)
        getattr(self, "draw_" + self.kind)(svg, *inner)

    def draw_stat(self, svg, x, y, w, h):
        shown = [(legend, self.last(v)) for legend, _, v in self.series][:3]
        if not shown:
            shown = [("", None)]
        size = 24 if len(shown) == 1 else 16
        for i, (legend, value) in enumerate(shown):
            text = short(value, self.unit)
            if self.panel["options"]["textMode"] == "value_and_name":
                text = f"{legend}: {text}"
            size = min(size, w / (0.62 * len(text)))
            middle = y + h * (i + 0.5) / len(shown) + size / 3
            svg.text(x + w / 2, middle, text, size, self.threshold_color(value),
                     'text-anchor="middle"')

    def range_of_values(self, values, stacked):
        """What the axis must hold."""
        low, most = 0.0, max(values)
        if stacked:
            sums = {}
            for s in self.series:
                for t, v in s[2]:
                    sums[t] = sums.get(t, 0) + (v if math.isfinite(v) else 0)
            most = max(sums.values())
        if "min" not in self.defaults:
            low = min(values)
        # Limits that are near are part of the picture.
        steps = [s["value"] for s in self.defaults.get("thresholds", {})
                 .get("steps", []) if s["value"] is not None]
        near = [s for s in steps if s <= 2.5 * most]
        if "thresholdsStyle" in self.defaults["custom"] and near:
            most = max([most] + near)
            if "min" not in self.defaults:
                low = min([low] + near)
        return low, max(most, low + 1e-12)

    def draw_timeseries(self, svg, x, y, w, h):
        self.series.sort(key=lambda s: -(self.last(s[2]) or 0))
        stacked = self.defaults["custom"]["stacking"]["mode"] != "none"
        values = [v for s in self.series for _, v in s[2] if math.isfinite(v)]
        times = sorted({t for s in self.series for t, _ in s[2]})
        if not values:
            svg.text(x + w / 2, y + h / 2, "no data", 12, "#8a929b")
            return
        low, most = self.range_of_values(values, stacked)
        ticks = ticks_of(low, most) if most > 1e-9 else [0, 0.5, 1]
        if "max" in self.defaults:
            ticks = [t for t in ticks if t <= self.defaults["max"]]
        labels = [short(tick, self.unit) for tick in ticks]
        low, high_value = ticks[0], ticks[-1]

        # The legend is on the right, of narrow panels beneath the plot.
        shown = self.series[:12]
        margin = max(len(label) for label in labels) * 5.9 + 10
        beneath_plot = w < 420
        legend_w = w if beneath_plot else min(
            max([len(s[0]) for s in shown] + [8]) * 6.1 + 80, w * 0.46)
        if beneath_plot:
            shown = self.series[:5]
            high = h - 22 - 14 * len(shown)
            wide, legend_x, legend_y = w - margin, x, y + high + 30
        else:
            shown = shown[:(h - 6) // 14]
            high, wide = h - 16, w - margin - legend_w - 12
            legend_x, legend_y = x + w - legend_w, y + 8
        left, top = x + margin, y + 4
        high -= 4
        first, span = times[0], max(times[-1] - times[0], 1)

        def place(t, v):
            v = min(max(v, low), high_value)
            return (left + (t - first) / span * wide,
                    top + high - (v - low) / (high_value - low) * high)

        self.draw_limits(svg, place, left, wide, low, high_value, first, span)
        for tick, label in zip(ticks, labels):
            _, at = place(first, tick)
            svg.line([(left, at), (left + wide, at)], "#e6e8eb", 1)
            svg.text(left - 5, at + 4, label, 10, "#6b7480", 'text-anchor="end"')
        svg.text(left, top + high + 13, f"{int(span)} s ago", 10, "#6b7480")
        svg.text(left + wide, top + high + 13, "now", 10, "#6b7480",
                 'text-anchor="end"')
        beneath = {t: 0.0 for t in times}
        for i, (legend, _, points) in enumerate(self.series):
            color = self.color(i, legend)
            points = [(t, v) for t, v in points if math.isfinite(v)][::2]
            if stacked:
                upper = [place(t, beneath[t] + v) for t, v in points]
                lower = [place(t, beneath[t]) for t, _ in reversed(points)]
                svg.polygon(upper + lower, color)
                for t, v in points:
                    beneath[t] += v
            elif points:
                svg.line([place(t, v) for t, v in points], color)
            if i >= len(shown):
                continue
            at = legend_y + 14 * i
            value = short(self.last(points), self.unit)
            svg.rect(legend_x, at - 5, 9, 3, color)
            svg.text(legend_x + 13, at,
                     clipped(legend, legend_w - 22 - 6.5 * len(value), 10), 10)
            svg.text(legend_x + legend_w, at, value, 10, "#4a525c",
                     'text-anchor="end"')

    def draw_limits(self, svg, place, left, wide, low, high, first, span):
        style = self.defaults["custom"].get("thresholdsStyle", {}).get("mode")
        steps = self.defaults.get("thresholds", {}).get("steps", [])
        if style is None:
            return
        for i, step in enumerate(steps):
            begin = low if step["value"] is None else step["value"]
            end = steps[i + 1]["value"] if i + 1 < len(steps) else high
            color = NAMED[step["color"]]
            if begin > high or color == "none":
                continue
            _, at = place(first, begin)
            _, above = place(first, min(end, high))
            if style == "area":
                svg.rect(left, above, wide, at - above, color,
                         'fill-opacity="0.08"')
            elif step["value"] is not None:
                svg.line([(left, at), (left + wide, at)], color, 1.5,
                         'fill="none" stroke-dasharray="5 3"')

    def draw_heatmap(self, svg, x, y, w, h):
        rows = sorted(((float(s[1]["le"]), s[2]) for s in self.series))
        beneath, cells = {}, []
        for bound, values in rows:
            row = [(t, max(v - beneath.get(t, 0), 0)) for t, v in values]
            beneath = dict(values)
            cells.append((bound, row[::3]))
        used = [i for i, (_, row) in enumerate(cells) if any(v > 0 for _, v in row)]
        if not used:
            svg.text(x + w / 2, y + h / 2, "no data", 12, "#8a929b")
            return
        cells = cells[max(used[0] - 1, 0):used[-1] + 2]
        most = max(v for _, row in cells for _, v in row)
        times = sorted({t for _, row in cells for t, _ in row})
        left, wide, high = x + 46, w - 54, h - 16
        cell_w, cell_h = wide / len(times), high / len(cells)
        index = {t: i for i, t in enumerate(times)}
        for i, (bound, row) in enumerate(cells):
            at = y + high - (i + 1) * cell_h
            name = "more" if math.isinf(bound) else short(bound, "s")
            svg.text(left - 5, at + cell_h / 2 + 4, name, 10, "#6b7480",
                     'text-anchor="end"')
            for t, v in row:
                if v > 0:
                    svg.rect(left + index[t] * cell_w, at, cell_w - 0.6,
                             cell_h - 0.6, "#c2571a",
                             f'fill-opacity="{0.08 + 0.92 * (v / most) ** 0.5:.2f}"')
        svg.text(left, y + h - 2, f"{int(times[-1] - times[0])} s ago", 10, "#6b7480")
        svg.text(left + wide, y + h - 2, "now", 10, "#6b7480", 'text-anchor="end"')

    @staticmethod
    def more(svg, x, bottom, count, room):
        """How many rows to draw; says how many there are beside them."""
        if count <= room:
            return room
        svg.text(x, bottom - 2, f"… and {count - room + 1} more", 11, "#6b7480")
        return room - 1

    def draw_bargauge(self, svg, x, y, w, h):
        rows = sorted(((self.last(v), legend) for legend, _, v in self.series
                       if self.last(v) is not None), reverse=True)
        room = int(h // 20)
        if not rows:
            svg.text(x + w / 2, y + h / 2, "no data", 12, "#8a929b")
            return
        most = max(value for value, _ in rows) or 1
        name_w = w * 0.4
        room = self.more(svg, x, y + h, len(rows), room)
        for i, (value, legend) in enumerate(rows[:room]):
            at = y + i * 20
            svg.text(x, at + 13, clipped(legend, name_w, 11), 11)
            svg.rect(x + name_w, at + 3, w - name_w - 60, 13, "#eef0f2")
            svg.rect(x + name_w, at + 3, (w - name_w - 60) * value / most, 13,
                     self.threshold_color(value))
            svg.text(x + w, at + 13, short(value, self.unit), 11, "#1f2328",
                     'text-anchor="end"')

    def draw_table(self, svg, x, y, w, h):
        columns = sorted({k for _, labels, _ in self.series for k in labels})
        for j, column in enumerate(columns):
            svg.text(x + j * w / len(columns), y + 12, column, 11, "#4a525c",
                     'font-weight="600"')
        newest = max(t for _, _, v in self.series for t, _ in v)
        rows = [labels for _, labels, v in self.series if v[-1][0] == newest]
        room = self.more(svg, x, y + h, len(rows), int((h - 20) // 17))
        for i, labels in enumerate(rows[:room]):
            for j, column in enumerate(columns):
                svg.text(x + j * w / len(columns), y + 30 + 17 * i,
                         clipped(labels.get(column, ""), w / len(columns)), 11)

    def draw_text(self, svg, x, y, w, h):
        text = re.sub(r"[*`]", "", self.panel["options"]["content"])
        at = y + 12
        for paragraph in text.splitlines():
            line = ""
            for word in paragraph.split() + [None]:
                if word is None or len(line) + len(word) > w / 5.9:
                    svg.text(x, at, line, 11)
                    at += 15
                    line = "   " if paragraph.startswith("-") else ""
                if word is not None:
                    line = f"{line} {word}" if line.strip() else line + word


def draw(file, results):
    board = json.loads(file.read_text())
    rows = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in board["panels"])
    width, height = 24 * CELL_W + 2 * GAP, rows * CELL_H + TOP + GAP
    svg = Svg(width, height)
    svg.text(GAP + 4, 24, board["title"], 18, more='font-weight="600"')
    svg.text(GAP + 4, 42,
             "Preview, drawn by scripts/previews.sh from a real Prometheus's "
             "answers under test load; no screenshot of Grafana.", 11, "#6b7480")
    for panel in board["panels"]:
        place = panel["gridPos"]
        x, y = GAP + place["x"] * CELL_W, TOP + place["y"] * CELL_H
        if panel["type"] == "row":
            svg.text(x + 4, y + 20, panel["title"], 13,
                     more='font-weight="600"')
            continue
        Panel(panel, file.name, results).draw(
            svg, x + 3, y + 3, place["w"] * CELL_W - 6, place["h"] * CELL_H - 6)
    return svg.done()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for file in sorted((ROOT / "deploy/grafana/dashboards").glob("*.json")):
        (out / f"dashboard-{file.stem}.svg").write_text(draw(file, results))


if __name__ == "__main__":
    main()
