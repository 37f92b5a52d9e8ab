// Answers to the wire. Cannot fail.
#pragma once

#include "mansard/v1/estimate.pb.h"
#include "model/estimate/estimate.h"
#include "server/convert/read_mask.h"

namespace mansard::server {

void ToProto(const model::Estimate& estimate, const model::ModelGraph& graph,
             EstimateParts parts, v1::PhaseEstimate& proto);
void ToProto(const model::MemoryFootprint& memory, v1::MemoryFootprint& proto);

}  // namespace mansard::server
