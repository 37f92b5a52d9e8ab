// Measured tables -> the calibrated kernel stacks of devices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/fit/gemm_fit.h"
#include "calibrate/fit/gemm_rows.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

// One fit, for people.
struct FitRecord {
  std::string hardware;
  std::string stack;
  model::Format format = model::Format::kBf16;
  GemmFit fit;
};

struct FittedStacks {
  // Text of a profile's additional stacks, by hardware id.
  std::map<std::string, std::string> files;
  std::vector<FitRecord> records;
};

// A stack for every device and engine version with at least kMinFitRows rows
// of plain bf16 products on the fitted side, apart from flagged rows. Error: a
// fit's.
inline constexpr size_t kMinFitRows = 100;
absl::StatusOr<FittedStacks> FitStacks(const std::vector<GemmRow>& rows,
                                       const model::ShippedData& data,
                                       const std::string& date);

}  // namespace mansard::calibrate
