// The grid that Lower is checked over: every kind of layer, and passes of every
// mix, small enough to walk.
#pragma once

#include <string>
#include <vector>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"

namespace mansard::testing {

struct NamedGraph {
  std::string name;
  model::ModelGraphSpec spec;
};

// Fifteen; a vocabulary that divides nothing, four query heads.
std::vector<NamedGraph> ReferenceGraphs();

// Nine; prompts and decodes with and without a prefix, drafts, a mix.
std::vector<model::ForwardPass> ReferencePasses();

// A prompt with a prefix, single decodes and drafts in one pass.
model::ForwardPass MixedReferencePass();

}  // namespace mansard::testing
