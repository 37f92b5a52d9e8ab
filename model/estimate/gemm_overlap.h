// A pass whose collectives run in chunks beside the GEMMs that they follow or
// feed; see model/workload/overlap.h. Internal to model/estimate: overlapped.h
// chooses.
#pragma once

#include <string>
#include <vector>

#include "model/estimate/aggregate.h"
#include "model/estimate/pipeline.h"

namespace mansard::model {

// Why no collective of the pass can; empty where one can.
std::string NoGemmOverlapReason(const OpList& ops);

// As EstimateOverlapped. Collectives that run in chunks are listed once a
// chunk, with the chunk's bytes.
PhaseEstimate EstimateBehindGemms(const PassSetup& setup,
                                  const ForwardPass& pass, OpList& ops,
                                  std::vector<OpTime>& times);

}  // namespace mansard::model
