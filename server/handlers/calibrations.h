// CalibrationService. Calibrations are large and rarely read: they are in the
// store alone.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/empty.pb.h"
#include "mansard/v1/calibration_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

absl::Status CreateCalibration(CallContext& call,
                               const v1::CreateCalibrationRequest& request,
                               v1::Calibration& response);
absl::Status GetCalibration(CallContext& call,
                            const v1::GetCalibrationRequest& request,
                            v1::Calibration& response);
absl::Status ListCalibrations(CallContext& call,
                              const v1::ListCalibrationsRequest& request,
                              v1::ListCalibrationsResponse& response);
absl::Status DeleteCalibration(CallContext& call,
                               const v1::DeleteCalibrationRequest& request,
                               google::protobuf::Empty& response);
absl::Status ApplyCalibration(CallContext& call,
                              const v1::ApplyCalibrationRequest& request,
                              v1::HardwareProfile& response);

}  // namespace mansard::server
