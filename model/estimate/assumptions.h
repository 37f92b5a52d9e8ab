// What an answer takes for granted about attention, in words.
#pragma once

#include <string>
#include <vector>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// How attention kinds are run where engines may differ.
std::vector<std::string> AttentionAssumptions(const ModelGraph& graph,
                                              const Layout& layout);

// Of one pass: layers that it skips.
std::vector<std::string> PassAssumptions(const ModelGraph& graph,
                                         const ForwardPass& pass);

}  // namespace mansard::model
