// Engines and calibrations as people read them.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/calibration_service.pb.h"
#include "mansard/v1/catalog_service.pb.h"

namespace mansard::cli {

Report EngineListReport(const v1::ListEnginesResponse& response);
std::string EngineText(const v1::Engine& engine, const Style& style);
// One row: what `engine get` says, for programs.
Report EngineReport(const v1::Engine& engine);

Report CalibrationListReport(const v1::ListCalibrationsResponse& response);
// Its measurements.
Report CalibrationReport(const v1::Calibration& calibration);
std::string CalibrationText(const v1::Calibration& calibration,
                            const Style& style);

}  // namespace mansard::cli
