// A pass whose computation and communication overlap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/estimate/aggregate.h"
#include "model/estimate/pipeline.h"

namespace mansard::model {

// Why the pass runs as if overlap were not asked for: it communicates nothing,
// or no rank has two requests of a group to split. Empty where it overlaps.
std::string NoOverlapReason(const PassSetup& setup, const ForwardPass& pass);

// Fills `ops`, those of both halves (once, twice over, where they are equal)
// and the host's of the whole, and `times`. The ops' times are without overlap;
// `hidden` is what it saves. Each half reads all weights. Preconditions:
// setup.overlap; no pipeline; NoOverlapReason is empty.
PhaseEstimate EstimateOverlapped(const PassSetup& setup,
                                 const ForwardPass& pass, OpList& ops,
                                 std::vector<OpTime>& times);

}  // namespace mansard::model
