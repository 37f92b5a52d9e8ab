// What --what-if lets the service choose from, as flags say it.
#pragma once

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// UsageError for a price that is no number or stands twice, and for flags of
// what-ifs without --what-if. A price without an id is of --hardware.
absl::StatusOr<v1::WhatIfChoices> WhatIfChoicesOf(const EstimateFlags& flags);

}  // namespace mansard::cli
