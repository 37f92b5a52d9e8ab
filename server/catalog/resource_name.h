// Resource names: "modelGraphs/llama-3.1-8b". The only place that makes and
// reads them.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"

namespace mansard::server {

inline constexpr char kModelGraphs[] = "modelGraphs";
inline constexpr char kHardwareProfiles[] = "hardwareProfiles";
inline constexpr char kEngines[] = "engines";
inline constexpr char kCalibrations[] = "calibrations";
// As ResourceInfo spells the types.
inline constexpr char kModelGraphType[] = "mansard.v1.ModelGraph";
inline constexpr char kHardwareProfileType[] = "mansard.v1.HardwareProfile";
inline constexpr char kEngineType[] = "mansard.v1.Engine";
inline constexpr char kCalibrationType[] = "mansard.v1.Calibration";

// "modelGraphs/llama-3.1-8b".
std::string ResourceName(absl::string_view collection, absl::string_view id);

// The id in a name of `collection`. Anything else is a violation of `field`
// that shows the pattern.
std::optional<std::string> ParseResourceName(absl::string_view name,
                                             absl::string_view collection,
                                             absl::string_view field,
                                             model::Violations& violations);

// The id and, after an "@", the revision; empty where there is none.
struct RevisionName {
  std::string id;
  std::string revision_id;
};
// As ParseResourceName.
std::optional<RevisionName> ParseRevisionName(absl::string_view name,
                                              absl::string_view collection,
                                              absl::string_view field,
                                              model::Violations& violations);

struct CalibrationId {
  std::string profile;
  std::string calibration;
};
// "hardwareProfiles/{profile}/calibrations/{calibration}".
std::string CalibrationName(const CalibrationId& id);
// As ParseResourceName.
std::optional<CalibrationId> ParseCalibrationName(
    absl::string_view name, absl::string_view field,
    model::Violations& violations);

// Adds a violation of `field` unless `id` is one.
void CheckId(absl::string_view id, absl::string_view field,
             model::Violations& violations);

}  // namespace mansard::server
