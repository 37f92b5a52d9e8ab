// EngineCosts and their message.
#pragma once

#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/engine_costs.h"

namespace mansard::model {

EngineCosts EngineCostsFromProto(const v1::EngineCosts& proto,
                                 Violations& violations);
v1::EngineCosts EngineCostsToProto(const EngineCosts& costs);

}  // namespace mansard::model
