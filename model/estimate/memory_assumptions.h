// What an answer takes for granted about memory, in words.
#pragma once

#include <string>
#include <vector>

#include "model/graph/model_graph.h"
#include "model/hardware/kernel_stack.h"
#include "model/lower/pass_formats.h"
#include "model/workload/layout.h"

namespace mansard::model {

std::vector<std::string> MemoryAssumptions(const ModelGraph& graph,
                                           const Layout& layout,
                                           const PassFormats& formats,
                                           const KernelStack& stack);

}  // namespace mansard::model
