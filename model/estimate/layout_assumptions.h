// What an answer takes for granted about how a model is spread over devices, in
// words.
#pragma once

#include <string>
#include <vector>

#include "model/graph/model_graph.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_stack.h"
#include "model/workload/layout.h"
#include "model/workload/overlap.h"

namespace mansard::model {

std::vector<std::string> LayoutAssumptions(const ModelGraph& graph,
                                           const Layout& layout,
                                           const Fabric& fabric,
                                           const Fusion& fusion);

std::string OverlapAssumption(const Overlap& overlap);

}  // namespace mansard::model
