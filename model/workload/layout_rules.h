// The rules that the sizes of a layout keep. Internal to model/workload.
#pragma once

#include <optional>

#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/hardware/fabric.h"
#include "model/workload/parallelism.h"

namespace mansard::model {

// Every size, defaults filled in; empty where a rule of Layout::Create is
// broken, all of which are then in `violations`.
std::optional<Parallelism> ResolveSizes(const Parallelism& asked,
                                        const ModelGraph& graph,
                                        const Fabric& fabric,
                                        Violations& violations);

}  // namespace mansard::model
