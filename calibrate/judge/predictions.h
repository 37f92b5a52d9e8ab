// Predictions beside the rows that they are for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/judge/predictor.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// A measured table with the columns predicted_us, p10_us, p90_us, floor_us,
// bound, tier and extrapolated (0 or 1) after its own, which stay as they are.
// Every row is there, in order; the new cells of one without an answer are
// empty. `cases`, `answers`: of this table, every row that was read. Error: the
// text is no table.
absl::StatusOr<std::string> WithPredictions(
    absl::string_view csv, const std::vector<MeasuredCase>& cases,
    const std::vector<CaseAnswer>& answers);

}  // namespace mansard::calibrate
