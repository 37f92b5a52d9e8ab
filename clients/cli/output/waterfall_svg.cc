#include "clients/cli/output/waterfall_svg.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/output/number.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

constexpr int kWidth = 1080;
constexpr int kTop = 96;  // Of the first row.
constexpr int kRowHeight = 30;
constexpr int kBarHeight = 18;
constexpr int kBarsLeft = 92;
constexpr int kBarsWidth = 470;
// Right ends of the columns of numbers.
constexpr int kColumns[] = {626, 700, 776, 866, 956, 1062};
constexpr const char* kHeads[] = {"exposed", "share",    "busy",
                                  "work",    "achieved", "peak"};

struct Color {
  const char* row;
  const char* light;
  const char* dark;
};
// Of about equal weight on both grounds; neighbours differ in lightness, too.
constexpr Color kColors[] = {
    {"compute", "#2563c9", "#6ea0f5"}, {"smem", "#0e7c86", "#4cc4cf"},
    {"l2", "#2e8b57", "#67c98f"},      {"hbm", "#c2571a", "#f09a5e"},
    {"nvlink", "#8a3fc1", "#c48cf0"},  {"pcie", "#c0397f", "#f08abc"},
    {"rdma", "#7a5c2e", "#cfae76"},    {"launch", "#b08900", "#e3c24d"},
    {"sync", "#6b7280", "#a5adba"},    {"host", "#b3261e", "#f2837c"},
};

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// Nothing for zero.
std::string Shown(double value, Unit unit) {
  return value > 0 ? WithUnit(value, unit) : "";
}

std::string TextAt(double x, double y, absl::string_view css,
                   absl::string_view text) {
  if (text.empty()) return "";
  return absl::StrFormat("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                         css, x, y, Escaped(text));
}

std::string StyleSheet() {
  std::string css =
      "text{font:12px system-ui,sans-serif;fill:#1f2328}"
      ".title{font-size:16px;font-weight:600}.n{text-anchor:end}"
      ".head{fill:#57606a}.headn{fill:#57606a;text-anchor:end}"
      ".ground{fill:#ffffff}.grid{stroke:#d0d7de}.busy{fill:none;"
      "stroke-dasharray:3 2}\n";
  std::string dark =
      "text{fill:#e6edf3}.head,.headn{fill:#9aa4af}.ground{fill:#0d1117}"
      ".grid{stroke:#30363d}";
  for (const Color& color : kColors) {
    absl::StrAppend(&css, ".", color.row, "{fill:", color.light,
                    ";stroke:", color.light, "}");
    absl::StrAppend(&dark, ".", color.row, "{fill:", color.dark,
                    ";stroke:", color.dark, "}");
  }
  // After the rows' colours: an outline has no filling.
  return absl::StrCat("<style>\n", css, ".busy{fill:none}\n",
                      "@media (prefers-color-scheme:dark){", dark,
                      ".busy{fill:none}}\n</style>\n");
}

class Picture {
 public:
  Picture(const v1::EstimateResponse& response, absl::string_view title)
      : estimate_(response.estimate()), title_(title) {
    for (const v1::WaterfallTier& row : estimate_.waterfall()) {
      longest_ = std::max(longest_, row.busy_seconds());
    }
    longest_ = std::max(longest_, estimate_.time_seconds());
  }

  std::string Draw() {
    Open();
    double y = kTop;
    double start = 0;
    for (const v1::WaterfallTier& row : estimate_.waterfall()) {
      Row(row, start, y);
      start += row.exposed_seconds();
      y += kRowHeight;
    }
    Step(y);
    Legend(y + kRowHeight + 14);
    absl::StrAppend(&out_, "</svg>\n");
    return std::move(out_);
  }

 private:
  double X(double seconds) const {
    return longest_ > 0 ? kBarsLeft + kBarsWidth * seconds / longest_
                        : kBarsLeft;
  }

  std::string Description() const {
    std::string text = absl::StrCat(
        "One step takes ", WithUnit(estimate_.time_seconds(), Unit::kSeconds),
        ", bound by ", BoundWord(estimate_.bound()), ".");
    for (const v1::WaterfallTier& row : estimate_.waterfall()) {
      if (row.exposed_seconds() <= 0) continue;
      absl::StrAppendFormat(&text, " %s: %s, %.1f %%.", row.tier(),
                            WithUnit(row.exposed_seconds(), Unit::kSeconds),
                            100 * row.share_ratio());
    }
    return text;
  }

  void Open() {
    const int height =
        kTop + kRowHeight * (estimate_.waterfall_size() + 1) + 56;
    absl::StrAppendFormat(
        &out_,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
        "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
        "aria-labelledby=\"title desc\">\n"
        "<title id=\"title\">Waterfall: %s</title>\n"
        "<desc id=\"desc\">%s</desc>\n",
        kWidth, height, kWidth, height, Escaped(title_),
        Escaped(Description()));
    absl::StrAppend(&out_, StyleSheet());
    absl::StrAppendFormat(
        &out_, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", kWidth,
        height);
    absl::StrAppend(&out_, TextAt(20, 32, "title", title_));
    absl::StrAppend(
        &out_,
        TextAt(20, 54, "head",
               absl::StrCat("step ",
                            WithUnit(estimate_.time_seconds(), Unit::kSeconds),
                            ", floor ",
                            WithUnit(estimate_.floor_seconds(), Unit::kSeconds),
                            ", ", BoundWord(estimate_.bound()), "-bound")));
    for (size_t i = 0; i < std::size(kColumns); ++i) {
      absl::StrAppend(&out_,
                      TextAt(kColumns[i], kTop - 12, "headn", kHeads[i]));
    }
    Grid();
  }

  void Grid() {
    const double bottom =
        kTop + kRowHeight * (estimate_.waterfall_size() + 1) - 6;
    for (const double at : {0.0, estimate_.time_seconds()}) {
      absl::StrAppendFormat(&out_,
                            "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" "
                            "x2=\"%.1f\" y2=\"%.1f\"/>\n",
                            X(at), kTop - 6, X(at), bottom);
    }
  }

  void Bar(absl::string_view css, double from, double to, double y,
           double height) {
    // What can be seen at all.
    const double width = std::max(0.8, X(to) - X(from));
    absl::StrAppendFormat(&out_,
                          "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" "
                          "width=\"%.1f\" height=\"%.1f\"/>\n",
                          css, X(from), y, width, height);
  }

  void Numbers(const v1::WaterfallTier& row, double y) {
    const std::string peak =
        Shown(row.peak_bytes_per_second(), Unit::kBytesPerSecond);
    const std::string cells[] = {
        Shown(row.exposed_seconds(), Unit::kSeconds),
        row.share_ratio() > 0
            ? absl::StrFormat("%.1f %%", 100 * row.share_ratio())
            : "",
        Shown(row.busy_seconds(), Unit::kSeconds),
        row.flops() > 0 ? Shown(row.flops(), Unit::kFlops)
                        : Shown(row.moved_bytes(), Unit::kBytes),
        row.flops() > 0
            ? Shown(row.flops() / estimate_.time_seconds(),
                    Unit::kFlopsPerSecond)
            : Shown(row.achieved_bytes_per_second(), Unit::kBytesPerSecond),
        row.effective_feed() ? "effective feed" : peak};
    for (size_t i = 0; i < std::size(kColumns); ++i) {
      absl::StrAppend(&out_, TextAt(kColumns[i], y, "n", cells[i]));
    }
  }

  void Row(const v1::WaterfallTier& row, double start, double y) {
    absl::StrAppendFormat(&out_, "<g><title>%s: exposed %s, busy %s</title>\n",
                          Escaped(row.tier()),
                          WithUnit(row.exposed_seconds(), Unit::kSeconds),
                          WithUnit(row.busy_seconds(), Unit::kSeconds));
    absl::StrAppend(&out_, TextAt(20, y + 14, "name", row.tier()));
    if (row.busy_seconds() > 0) {
      // Beside the exposed part, as far as there is room.
      const double from = std::min(start, longest_ - row.busy_seconds());
      Bar(absl::StrCat(row.tier(), " busy"), from, from + row.busy_seconds(), y,
          kBarHeight);
    }
    if (row.exposed_seconds() > 0) {
      Bar(row.tier(), start, start + row.exposed_seconds(), y, kBarHeight);
    }
    Numbers(row, y + 14);
    absl::StrAppend(&out_, "</g>\n");
  }

  void Step(double y) {
    absl::StrAppend(&out_, TextAt(20, y + 14, "name", "step"));
    double start = 0;
    for (const v1::WaterfallTier& row : estimate_.waterfall()) {
      if (row.exposed_seconds() <= 0) continue;
      Bar(row.tier(), start, start + row.exposed_seconds(), y, kBarHeight);
      start += row.exposed_seconds();
    }
    absl::StrAppend(&out_,
                    TextAt(kColumns[0], y + 14, "n",
                           WithUnit(estimate_.time_seconds(), Unit::kSeconds)),
                    TextAt(kColumns[1], y + 14, "n", "100 %"));
  }

  void Legend(double y) {
    absl::StrAppend(
        &out_,
        TextAt(20, y, "head",
               "filled: exposed, all rows add up to the step; dashed: busy, "
               "which other rows may hide"));
  }

  const v1::PhaseEstimate& estimate_;
  std::string title_;
  double longest_ = 0;
  std::string out_;
};

}  // namespace

std::string WaterfallSvg(const v1::EstimateResponse& response,
                         absl::string_view title) {
  return Picture(response, title).Draw();
}

}  // namespace mansard::cli
