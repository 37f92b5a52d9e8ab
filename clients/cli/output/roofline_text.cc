#include "clients/cli/output/roofline_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

using Response = v1::ExplainRooflineResponse;

Cell Intensity(double flops_per_byte) {
  if (flops_per_byte <= 0) return {};
  return ShownAs(Number(flops_per_byte),
                 Grouped(flops_per_byte, flops_per_byte < 10 ? 2 : 1));
}

Cell LimitCell(const Response::Ceiling& ceiling) {
  return Text(
      ceiling.has_flops_per_second()
          ? WithUnit(ceiling.flops_per_second(), Unit::kFlopsPerSecond)
          : WithUnit(ceiling.bytes_per_second(), Unit::kBytesPerSecond));
}

// A row, and where the cells of datasheet and stack are.
struct Row {
  std::string key;
  std::vector<Cell> cells;
};

Row& RowFor(std::vector<Row>& rows, const std::string& key, size_t columns) {
  const auto found =
      std::find_if(rows.begin(), rows.end(),
                   [&key](const Row& row) { return row.key == key; });
  if (found != rows.end()) return *found;
  rows.push_back({key, std::vector<Cell>(columns)});
  return rows.back();
}

void Move(std::vector<Row>& rows, Report& report) {
  for (Row& row : rows) report.rows.push_back(std::move(row.cells));
}

}  // namespace

Report CeilingsReport(const Response& response) {
  Report report{{{"ceiling", Unit::kNone, Align::kLeft},
                 {"datasheet"},
                 {"ridge FLOP/B"},
                 {"stack"},
                 {"ridge FLOP/B"}},
                {}};
  std::vector<Row> rows;
  for (const Response::Ceiling& ceiling : response.ceilings()) {
    std::vector<Cell>& cells =
        RowFor(rows, ceiling.label(), report.columns.size()).cells;
    const size_t first = ceiling.calibrated() ? 3 : 1;
    const std::string resource =
        ceiling.label().substr(0, ceiling.label().find(' '));
    cells[0] = Text(ceiling.label(), ToneOfResource(resource));
    cells[first] = LimitCell(ceiling);
    cells[first + 1] = Intensity(ceiling.ridge_flops_per_byte());
  }
  Move(rows, report);
  return report;
}

Report PointsReport(const Response& response) {
  Report report{{{"op", Unit::kNone, Align::kLeft},
                 {"n", Unit::kNone, Align::kRight, "repeat_count"},
                 {"FLOP/B", Unit::kNone, Align::kRight,
                  "arithmetic_intensity_flops_per_byte"},
                 {"achieved", Unit::kFlopsPerSecond},
                 {"share", Unit::kPercent},
                 {"bound", Unit::kNone, Align::kLeft},
                 {"limit", Unit::kNone, Align::kLeft}},
                {}};
  for (const Response::Point& point : response.points()) {
    const std::string bound = BoundWord(point.bound());
    report.rows.push_back(
        {Text(point.op()), Number(point.repeat_count()),
         Intensity(point.arithmetic_intensity_flops_per_byte()),
         NumberOrNothing(point.achieved_flops_per_second()),
         Number(point.time_ratio()), Text(bound, ToneOfResource(bound)),
         Text(point.limiting_resource(),
              ToneOfResource(point.limiting_resource()))});
  }
  return report;
}

Report CrossoversReport(const Response& response) {
  Report report{{{"flips", Unit::kNone, Align::kLeft},
                 {"from", Unit::kNone, Align::kLeft},
                 {"to", Unit::kNone, Align::kLeft},
                 {"at", Unit::kNone, Align::kLeft},
                 {"datasheet"},
                 {"stack"}},
                {}};
  std::vector<Row> rows;
  for (const Response::Crossover& flip : response.crossovers()) {
    // The step may flip more than once along an axis, an op does not.
    const std::string key =
        flip.op() == "step"
            ? absl::StrCat("step ", flip.axis(), " ", flip.value())
            : absl::StrCat(flip.op(), " ", flip.axis());
    std::vector<Cell>& cells = RowFor(rows, key, report.columns.size()).cells;
    cells[0] = Text(flip.op());
    cells[1] = Text(flip.from_resource(), ToneOfResource(flip.from_resource()));
    cells[2] = Text(flip.to_resource(), ToneOfResource(flip.to_resource()));
    cells[3] = Text(flip.axis());
    cells[flip.calibrated() ? 5 : 4] =
        Text(Grouped(static_cast<int64_t>(std::llround(flip.value()))));
  }
  Move(rows, report);
  return report;
}

}  // namespace mansard::cli
