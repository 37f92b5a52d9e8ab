#include "calibrate/import/roofline_svg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/import/roofline_points.h"
#include "calibrate/import/svg_text.h"

namespace mansard::calibrate {
namespace {

constexpr int kWidth = 1080;
constexpr int kLeft = 92;
constexpr int kRight = 1040;
constexpr int kTop = 84;
constexpr int kBottom = 544;
constexpr int kRowHeight = 22;
constexpr int kTableTop = 632;

// Right ends of the table's columns of numbers.
struct Column {
  const char* name;
  int right;
};
constexpr Column kColumns[] = {
    {"launches", 560},  {"time", 640},  {"rate", 740},     {"FLOP/B hbm", 830},
    {"FLOP/B l2", 910}, {"model", 980}, {"/ model", 1040},
};
constexpr size_t kNameLetters = 62;

std::string StyleSheet() {
  std::string css =
      "text{font:12px system-ui,sans-serif;fill:#1f2328}"
      ".title{font-size:16px;font-weight:600}.n{text-anchor:end}"
      ".head{fill:#57606a}.headn{fill:#57606a;text-anchor:end}"
      ".mid{fill:#57606a;text-anchor:middle}"
      ".ground{fill:#ffffff}.grid{stroke:#eaeef2}.axis{stroke:#8c959f}"
      ".rate{stroke:#57606a;stroke-width:1.5}"
      ".tie{stroke:#8c959f;stroke-width:.8}.off{stroke-dasharray:3 3}\n";
  std::string dark =
      "text{fill:#e6edf3}.head,.headn,.mid{fill:#9aa4af}.ground{fill:#0d1117}"
      ".grid{stroke:#21262d}.axis{stroke:#6e7681}.rate{stroke:#9aa4af}";
  for (const Level& level : kLevels) {
    const auto rules = [&level](const char* color) {
      return absl::StrFormat(
          ".%s{fill:%s;stroke:%s}.%sline{stroke:%s;stroke-width:1.5}"
          ".%stext{fill:%s}.%smodel{fill:none;stroke:%s;stroke-width:1.6}",
          level.name, color, color, level.name, color, level.name, color,
          level.name, color);
    };
    absl::StrAppend(&css, rules(level.light));
    absl::StrAppend(&dark, rules(level.dark));
  }
  return absl::StrCat("<style>\n", css, "\n@media (prefers-color-scheme:dark){",
                      dark, "}\n</style>\n");
}

class Picture {
 public:
  Picture(std::vector<JudgedKernel> kernels, size_t hidden,
          const model::Device& device, absl::string_view title)
      : kernels_(std::move(kernels)),
        hidden_(hidden),
        device_(device),
        title_(title),
        rates_(RatesOf(kernels_, device)) {
    SetRanges();
  }

  std::string Draw() {
    Open();
    Grid();
    Roofs();
    for (size_t i = 0; i < kernels_.size(); ++i) Kernel(i);
    Legend();
    Table();
    absl::StrAppend(&out_, "</svg>\n");
    return std::move(out_);
  }

 private:
  // Whole decades around all that is drawn.
  void SetRanges() {
    double least_x = std::numeric_limits<double>::infinity();
    double most_x = 0;
    double least_y = least_x;
    double most_y = 0;
    const auto include = [&](const Point& point) {
      least_x = std::min(least_x, point.intensity);
      most_x = std::max(most_x, point.intensity);
      least_y = std::min(least_y, point.rate);
      most_y = std::max(most_y, point.rate);
    };
    for (const JudgedKernel& kernel : kernels_) {
      for (const Level& level : kLevels) {
        if (const auto p = PointOf(kernel.measured.counts, level)) include(*p);
        if (const auto p = PointOf(kernel.model, level)) include(*p);
      }
    }
    double top = most_y;
    for (const Roof& roof : rates_) top = std::max(top, roof.rate);
    include({top / device_.HbmBandwidth().value(), top});
    // Room for names at the roofs' ends.
    x_from_ = static_cast<int>(std::floor(std::log10(least_x * 0.5)));
    x_to_ = static_cast<int>(std::ceil(std::log10(most_x * 4)));
    y_from_ = static_cast<int>(std::floor(std::log10(least_y * 0.5)));
    y_to_ = static_cast<int>(std::ceil(std::log10(top * 1.5)));
  }

  double X(double intensity) const {
    return kLeft + (kRight - kLeft) * (std::log10(intensity) - x_from_) /
                       (x_to_ - x_from_);
  }
  double Y(double rate) const {
    return kBottom -
           (kBottom - kTop) * (std::log10(rate) - y_from_) / (y_to_ - y_from_);
  }

  void Text(absl::string_view css, double x, double y, absl::string_view text,
            absl::string_view more = "") {
    absl::StrAppendFormat(&out_,
                          "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s>%s"
                          "</text>\n",
                          css, x, y, more, Escaped(text));
  }
  void Line(absl::string_view css, double x1, double y1, double x2, double y2) {
    absl::StrAppendFormat(&out_,
                          "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" "
                          "x2=\"%.1f\" y2=\"%.1f\"/>\n",
                          css, x1, y1, x2, y2);
  }

  void Open() {
    const int height =
        kTableTop + kRowHeight * static_cast<int>(kernels_.size()) + 34;
    absl::StrAppendFormat(
        &out_,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
        "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
        "aria-labelledby=\"title desc\">\n"
        "<title id=\"title\">Roofline: %s</title>\n<desc id=\"desc\">",
        kWidth, height, kWidth, height, Escaped(title_));
    for (const JudgedKernel& kernel : kernels_) {
      const KernelCounts& counts = kernel.measured.counts;
      absl::StrAppend(
          &out_, Escaped(Clipped(kernel.measured.name, kNameLetters)), ": ",
          WithPrefix(*counts.flops() / *counts.seconds, "FLOP/s"), ". ");
    }
    absl::StrAppend(&out_, "</desc>\n", StyleSheet());
    absl::StrAppendFormat(
        &out_, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", kWidth,
        height);
    Text("title", 20, 32, title_);
    Text("head", 20, 54,
         "roofs: the datasheet's. Dots: measured, by the bytes of a level; "
         "diamonds: the model's answer for the same op.");
  }

  void Grid() {
    for (int decade = x_from_; decade <= x_to_; ++decade) {
      const double x = X(std::pow(10, decade));
      Line("grid", x, kTop, x, kBottom);
      Text("mid", x, kBottom + 18, absl::StrFormat("%g", std::pow(10, decade)));
    }
    for (int decade = y_from_; decade <= y_to_; ++decade) {
      const double y = Y(std::pow(10, decade));
      Line("grid", kLeft, y, kRight, y);
      Text("headn", kLeft - 8, y + 4,
           WithPrefix(std::pow(10, decade), "FLOP/s"));
    }
    Line("axis", kLeft, kBottom, kRight, kBottom);
    Line("axis", kLeft, kTop, kLeft, kBottom);
    Text("mid", (kLeft + kRight) / 2.0, kBottom + 38,
         "arithmetic intensity, FLOP per byte");
  }

  void Roofs() {
    double top = 0;
    for (const Roof& roof : rates_) top = std::max(top, roof.rate);
    double widest = device_.HbmBandwidth().value();
    for (const Level& level : kLevels) {
      const std::optional<double> bandwidth = BandwidthOf(level, device_);
      if (!bandwidth.has_value() || !Shows(level)) continue;
      widest = std::max(widest, *bandwidth);
      // From where it enters the frame to the highest rate.
      const double from =
          std::max(std::pow(10, x_from_), std::pow(10, y_from_) / *bandwidth);
      const double to = std::min(top / *bandwidth, std::pow(10, x_to_));
      if (from >= to) continue;
      Line(absl::StrCat(level.name, "line"), X(from), Y(from * *bandwidth),
           X(to), Y(to * *bandwidth));
      Slanted(level, *bandwidth, std::sqrt(from * to));
    }
    for (const Roof& roof : rates_) {
      const double from = std::max(std::pow(10, x_from_), roof.rate / widest);
      Line("rate", X(from), Y(roof.rate), kRight, Y(roof.rate));
      Text("headn", kRight - 4, Y(roof.rate) - 5,
           absl::StrCat(roof.name, " ", WithPrefix(roof.rate, "FLOP/s")));
    }
  }

  bool Shows(const Level& level) const {
    return std::any_of(kernels_.begin(), kernels_.end(),
                       [&level](const JudgedKernel& kernel) {
                         return PointOf(kernel.measured.counts, level) ||
                                PointOf(kernel.model, level);
                       });
  }

  // A name along its line.
  void Slanted(const Level& level, double bandwidth, double intensity) {
    const double rise = 1.0 * (kBottom - kTop) / (y_to_ - y_from_);
    const double run = 1.0 * (kRight - kLeft) / (x_to_ - x_from_);
    const double angle = -std::atan2(rise, run) * 180 / std::acos(-1.0);
    const double x = X(intensity);
    const double y = Y(intensity * bandwidth);
    Text(absl::StrCat(level.name, "text"), x, y - 6,
         absl::StrCat(level.name, " ", WithPrefix(bandwidth, "B/s")),
         absl::StrFormat(
             " text-anchor=\"middle\" transform=\"rotate(%.1f %.1f %.1f)\"",
             angle, x, y));
  }

  void Kernel(size_t index) {
    const JudgedKernel& kernel = kernels_[index];
    absl::StrAppend(&out_, "<g><title>", index + 1, ": ",
                    Escaped(kernel.measured.name), "</title>\n");
    double left = std::numeric_limits<double>::infinity();
    double right = 0;
    double y = 0;
    for (const Level& level : kLevels) {
      const auto measured = PointOf(kernel.measured.counts, level);
      if (!measured.has_value()) continue;
      left = std::min(left, X(measured->intensity));
      right = std::max(right, X(measured->intensity));
      y = Y(measured->rate);
    }
    Line("tie", left, y, right, y);
    for (const Level& level : kLevels) Dot(kernel, level);
    Text("n", left - 8, y + 4, absl::StrCat(index + 1));
    absl::StrAppend(&out_, "</g>\n");
  }

  void Dot(const JudgedKernel& kernel, const Level& level) {
    const auto measured = PointOf(kernel.measured.counts, level);
    if (!measured.has_value()) return;
    const double x = X(measured->intensity);
    const double y = Y(measured->rate);
    if (const auto answer = PointOf(kernel.model, level)) {
      const double to_x = X(answer->intensity);
      const double to_y = Y(answer->rate);
      Line("tie off", x, y, to_x, to_y);
      absl::StrAppendFormat(
          &out_, "<path class=\"%smodel\" d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\"/>\n",
          level.name, to_x, to_y - 6);
    }
    absl::StrAppendFormat(
        &out_, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
        level.name, x, y);
  }

  void Legend() {
    double x = kLeft;
    for (const Level& level : kLevels) {
      if (!Shows(level)) continue;
      absl::StrAppendFormat(
          &out_, "<circle class=\"%s\" cx=\"%.1f\" cy=\"72\" r=\"4\"/>\n",
          level.name, x);
      Text("head", x + 10, 76, absl::StrCat("bytes of ", level.name));
      x += 120;
    }
  }

  void Table() {
    Text("head", 20, kTableTop - 12, "kernel");
    for (const Column& column : kColumns) {
      Text("headn", column.right, kTableTop - 12, column.name);
    }
    double y = kTableTop + 8;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      Row(i, y);
      y += kRowHeight;
    }
    if (hidden_ == 0) return;
    Text("head", 20, y + 4,
         absl::StrCat(hidden_, " further kernels are in the table alone"));
  }

  void Row(size_t index, double y) {
    const JudgedKernel& kernel = kernels_[index];
    const KernelCounts& counts = kernel.measured.counts;
    Text("name", 20, y,
         absl::StrCat(index + 1, "  ",
                      Clipped(kernel.measured.name, kNameLetters)));
    const auto intensity = [&counts](const Level& level) {
      const auto point = PointOf(counts, level);
      return point ? absl::StrFormat("%.4g", point->intensity) : "";
    };
    const std::string cells[] = {
        absl::StrCat(kernel.measured.launches),
        WithPrefix(*counts.seconds, "s"),
        WithPrefix(*counts.flops() / *counts.seconds, "FLOP/s"),
        intensity(kLevels[0]),
        intensity(kLevels[1]),
        kernel.model.seconds ? WithPrefix(*kernel.model.seconds, "s") : "",
        kernel.model.seconds
            ? absl::StrFormat("%.2f", *counts.seconds / *kernel.model.seconds)
            : ""};
    for (size_t i = 0; i < std::size(kColumns); ++i) {
      Text("n", kColumns[i].right, y, cells[i]);
    }
  }

  const std::vector<JudgedKernel> kernels_;
  const size_t hidden_;
  const model::Device& device_;
  const std::string title_;
  const std::vector<Roof> rates_;
  int x_from_ = 0;  // Powers of ten.
  int x_to_ = 0;
  int y_from_ = 0;
  int y_to_ = 0;
  std::string out_;
};

}  // namespace

absl::StatusOr<std::string> RooflineSvg(
    const std::vector<JudgedKernel>& kernels, const model::Device& device,
    absl::string_view title) {
  std::vector<JudgedKernel> drawn;
  size_t hidden = 0;
  for (const JudgedKernel& kernel : kernels) {
    if (IsDrawn(kernel) && drawn.size() < kMostDrawnKernels) {
      drawn.push_back(kernel);
    } else {
      ++hidden;
    }
  }
  if (drawn.empty()) {
    return absl::FailedPreconditionError(
        "no kernel has operations and bytes; collect them with ncu --set "
        "roofline, or rocprof-compute with its roofline counters");
  }
  return Picture(std::move(drawn), hidden, device, title).Draw();
}

}  // namespace mansard::calibrate
