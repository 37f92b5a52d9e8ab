// `mansard engine observe --from`: a running engine's metrics as observations.
#pragma once

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "clients/cli/command_status.h"
#include "clients/cli/session.h"
#include "clients/observe/engine_metrics.h"
#include "mansard/v1/calibration_service.pb.h"

namespace mansard::cli {

v1::Observation ToObservation(const observe::ObservedRun& run);

// Looks, waits, looks again and reports, as often as the flags say; the answer
// to the last report. Asked for one report, it ends with the first error.
// Asked for more, it says what went wrong on standard error, as it does each
// report, and looks again; only the server's errors end it.
absl::StatusOr<v1::ReportObservationsResponse> ReportFromMetrics(
    const Session& session, const Arguments& arguments,
    const FieldNamer& flag_of_field);

}  // namespace mansard::cli
