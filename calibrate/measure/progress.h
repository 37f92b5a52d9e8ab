// How a campaign shows where it stands.
#pragma once

#include <string>

#include "calibrate/measure/campaign.h"

namespace mansard::calibrate {

// "gemm m=16 n=1024 k=1024   434.1 us +-0.4 %  73.7 GFLOP/s", or the outcome
// and why.
std::string ResultText(const CaseResult& result);

// "[#####.....] 12/24  0:31 of 10:00".
std::string BarText(const Standing& standing);

// Writes to standard error: on a terminal each case's line above a bar that
// stays at the bottom, elsewhere the lines alone.
void ShowProgress(const Standing& standing);

}  // namespace mansard::calibrate
