// The engine's answers for measured rows.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/judge/place.h"
#include "calibrate/tables/measured_case.h"
#include "model/base/units.h"
#include "model/hardware/kernel_families.h"
#include "model/price/price.h"
#include "model/price/resource.h"

namespace mansard::calibrate {

// For a row: its ops one after the other. Bounds of intervals add up as
// estimates do, as of errors that are fully correlated.
struct Prediction {
  model::Seconds estimate;
  model::Seconds p10;
  model::Seconds p90;
  model::Seconds floor;
  // The plain roofline: of each op the larger of FLOP / peak and bytes / HBM
  // bandwidth, nothing cached; of communication wire bytes / link bandwidth.
  model::Seconds roofline;
  model::Bound bound = model::Bound::kMemory;
  model::Tier tier = model::Tier::kCalibrated;  // The weakest of its ops'.
  bool extrapolated = false;                    // Any of its ops.
  const model::KernelStack* stack = nullptr;    // That answered.
};

using CaseAnswer = std::variant<Unanswered, Prediction>;

// The plain roofline of one repeat of an op, as Prediction has it.
model::Seconds PlainRoofline(const model::Op& op,
                             const model::HardwareView& view);

class Predictor {
 public:
  // The data outlive the predictor. Error: of CheckOptions.
  static absl::StatusOr<Predictor> Create(const model::ShippedData& data,
                                          const PlaceOptions& options);

  CaseAnswer Predict(const MeasuredCase& measured);

 private:
  Predictor(const model::ShippedData& data, PlaceOptions options)
      : data_(&data), options_(std::move(options)) {}

  const Placement& PlaceFor(const MeasuredCase& measured);

  const model::ShippedData* data_;
  PlaceOptions options_;
  // By device, framework and version.
  std::map<std::tuple<std::string, std::string, std::string>, Placement>
      places_;
  std::vector<model::OpTime> times_;  // Of the last row; kept for its memory.
};

}  // namespace mansard::calibrate
