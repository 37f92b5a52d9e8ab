// A pass whose computation and communication overlap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/estimate/aggregate.h"
#include "model/estimate/pipeline.h"

namespace mansard::model {

// Why the pass runs as if overlap were not asked for: it communicates nothing;
// no rank has two requests of a group to split, or no collective stands beside
// a GEMM. Empty where it overlaps.
std::string NoOverlapReason(const PassSetup& setup, const ForwardPass& pass,
                            Overlap::Kind kind);

// Fills `ops` and `times`. The ops' times are without overlap; `hidden` is what
// it saves. Of two batches the ops are those of both halves (once, twice over,
// where they are equal) and the host's of the whole; each half reads all
// weights. Behind GEMMs they are as gemm_overlap.h says. Preconditions:
// setup.overlap; no pipeline; NoOverlapReason is empty for its kind.
PhaseEstimate EstimateOverlapped(const PassSetup& setup,
                                 const ForwardPass& pass, OpList& ops,
                                 std::vector<OpTime>& times);

}  // namespace mansard::model
