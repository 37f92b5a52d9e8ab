#include "clients/cli/output/what_if_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace mansard::cli {
namespace {

// "kv cache fp8-e4m3".
std::string NameOf(const v1::WhatIf& row) {
  return absl::StrReplaceAll(absl::StrCat(row.kind(), " ", row.value()),
                             {{"_", " "}});
}

Cell FitCell(const v1::WhatIf& row) {
  return row.fits() ? Text("yes", Tone::kGood) : Text("no", Tone::kBad);
}

Cell CostCell(const v1::WhatIf& row) {
  if (!row.has_cost_per_million_tokens()) return Cell{};
  return ShownAs(Number(row.cost_per_million_tokens()),
                 absl::StrFormat("%.3g", row.cost_per_million_tokens()));
}

std::vector<Cell> RowOf(const v1::WhatIf& row, bool as_is) {
  const std::string name = as_is ? "as it is" : NameOf(row);
  if (!row.reason().empty()) {
    std::vector<Cell> cells(8);
    cells.front() = Text(name, Tone::kFaint);
    cells.push_back(Text(row.reason()));
    return cells;
  }
  return {Text(name, as_is ? Tone::kStrong : Tone::kPlain),
          Number(row.time_seconds()),
          Number(row.seconds_per_token()),
          as_is ? Cell{} : Number(row.saved_seconds_per_token()),
          Number(static_cast<double>(row.needed_bytes())),
          FitCell(row),
          Number(row.device_count()),
          CostCell(row),
          Text(" ")};
}

}  // namespace

Report SensitivityReport(const v1::EstimateResponse& response) {
  Report report{{{"resource", Unit::kNone, Align::kLeft},
                 {"change", Unit::kPercent},
                 {"step", Unit::kSeconds},
                 {"gain", Unit::kSeconds},
                 {"gain", Unit::kPercent, Align::kRight, "gain_ratio"},
                 {"share", Unit::kPercent}},
                {}};
  std::vector<const v1::Sensitivity*> rows;
  for (const v1::Sensitivity& row : response.sensitivities()) {
    if (row.share_ratio() > 0 || row.gain_seconds() != 0) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return a->gain_seconds() > b->gain_seconds();
  });
  for (const v1::Sensitivity* row : rows) {
    report.rows.push_back(
        {Text(row->resource(), ToneOfResource(row->resource())),
         ShownAs(Number(row->change_ratio()),
                 absl::StrFormat("%+.0f", 100 * row->change_ratio())),
         Number(row->time_seconds()), Number(row->gain_seconds()),
         Number(row->gain_ratio()), Number(row->share_ratio())});
  }
  return report;
}

Report WhatIfReport(const v1::EstimateResponse& response, Reader reader) {
  const v1::WhatIfs& all = response.what_if();
  bool priced = all.as_is().has_cost_per_million_tokens();
  for (const v1::WhatIf& row : all.changes()) {
    priced = priced || row.has_cost_per_million_tokens();
  }
  // One change may take a thousand times as long; the others stay readable.
  const double step = all.as_is().time_seconds();
  const double token = all.as_is().seconds_per_token();
  Report report{
      {{"what if", Unit::kNone, Align::kLeft},
       {"step", Unit::kSeconds, Align::kRight, "", Reader::kBoth, step},
       {"a token", Unit::kSeconds, Align::kRight, "seconds_per_token",
        Reader::kBoth, token},
       {"saved", Unit::kSeconds, Align::kRight, "saved_seconds_per_token",
        Reader::kBoth, token},
       {"needed", Unit::kBytes},
       {"fits", Unit::kNone, Align::kLeft},
       {"n", Unit::kNone, Align::kRight, "device_count"},
       {"cost/Mtok", Unit::kNone, Align::kRight, "cost_per_million_tokens",
        priced ? Reader::kBoth : Reader::kPrograms},
       {"reason", Unit::kNone, Align::kLeft, "", Reader::kPrograms}},
      {}};
  report.rows.push_back(RowOf(all.as_is(), true));
  for (const v1::WhatIf& row : all.changes()) {
    if (reader == Reader::kPeople && !row.reason().empty()) continue;
    report.rows.push_back(RowOf(row, false));
  }
  return report;
}

std::string ImpossibleText(const v1::EstimateResponse& response) {
  std::string text;
  for (const v1::WhatIf& row : response.what_if().changes()) {
    if (row.reason().empty()) continue;
    absl::StrAppend(&text, "cannot be: ",
                    Wrapped(absl::StrCat(NameOf(row), ": ", row.reason()), 11));
  }
  return text;
}

}  // namespace mansard::cli
