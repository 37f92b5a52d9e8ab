// Answers to the wire. Cannot fail.
#pragma once

#include <string>
#include <vector>

#include "mansard/v1/estimate.pb.h"
#include "model/estimate/estimate.h"
#include "model/estimate/remedies.h"
#include "server/convert/read_mask.h"

namespace mansard::server {

v1::Bound BoundToProto(model::Bound bound);
v1::Tier TierToProto(model::Tier tier);
// `name`: of the op. With the advice that follows from its time.
void ToProto(const model::Op& op, const model::OpTime& time, std::string name,
             const model::Device& device, v1::OpEstimate& proto);
void ToProto(const model::Estimate& estimate, const model::Target& target,
             EstimateParts parts, v1::PhaseEstimate& proto);
// `remedies`: of a pass that does not fit.
void ToProto(const model::MemoryFootprint& memory,
             const std::vector<model::Remedy>& remedies,
             const model::ModelGraph& graph, v1::MemoryFootprint& proto);

}  // namespace mansard::server
