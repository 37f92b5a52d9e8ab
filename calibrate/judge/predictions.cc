#include "calibrate/judge/predictions.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/tables/csv.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr char kColumns[] =
    ",predicted_us,p10_us,p90_us,floor_us,bound,tier,extrapolated\n";
constexpr char kNoAnswer[] = ",,,,,,,\n";

void AppendCells(const Prediction& prediction, std::string& out) {
  for (const model::Seconds time : {prediction.estimate, prediction.p10,
                                    prediction.p90, prediction.floor}) {
    absl::StrAppendFormat(&out, ",%.6g", model::ToMicroseconds(time));
  }
  absl::StrAppend(&out, ",", model::BoundName(prediction.bound), ",",
                  model::TierName(prediction.tier), ",",
                  prediction.extrapolated ? 1 : 0, "\n");
}

}  // namespace

absl::StatusOr<std::string> WithPredictions(
    absl::string_view csv, const std::vector<MeasuredCase>& cases,
    const std::vector<CaseAnswer>& answers) {
  // Of rows that were not read: null.
  std::vector<const Prediction*> by_row;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (by_row.size() <= cases[i].row) by_row.resize(cases[i].row + 1);
    by_row[cases[i].row] = std::get_if<Prediction>(&answers[i]);
  }
  CsvReader reader(csv);
  std::string out = absl::StrCat(reader.line_text(), kColumns);
  std::vector<std::string> cells;
  for (size_t row = 0;; ++row) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
    if (!more) return out;
    absl::StrAppend(&out, reader.line_text());
    if (row < by_row.size() && by_row[row] != nullptr) {
      AppendCells(*by_row[row], out);
    } else {
      absl::StrAppend(&out, kNoAnswer);
    }
  }
}

}  // namespace mansard::calibrate
