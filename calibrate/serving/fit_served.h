// A table of served runs -> engines' costs as data, and how right they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/serving/cross_validation.h"
#include "calibrate/tables/serving_rows.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

struct FittedServed {
  // Text of a profile's additional stacks, by hardware id.
  std::map<std::string, std::string> files;
  size_t tpot_rows = 0;
  size_t ttft_rows = 0;
};
// Fitted to core runs but those of IsHeldOut. A stack for each engine and
// device that has runs. Error: of the fit.
absl::StatusOr<FittedServed> FitServed(const std::vector<ServingRow>& rows,
                                       const model::ShippedData& data,
                                       const std::string& date);

// "How right are we" on runs that no fit saw, as Markdown. Error: of the fits.
absl::StatusOr<std::string> ServedReport(const std::vector<ServingRow>& rows,
                                         const model::ShippedData& data);

}  // namespace mansard::calibrate
