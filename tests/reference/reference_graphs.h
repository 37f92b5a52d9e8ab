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

// A vocabulary that divides nothing, four query heads.
std::vector<NamedGraph> ReferenceGraphs();

// Nine; prompts and decodes with and without a prefix, drafts, a mix.
std::vector<model::ForwardPass> ReferencePasses();

// What the second file adds to the grid: further attention kinds, those with
// cross-attention included.
void AddAttentionKinds(std::vector<NamedGraph>& graphs);
std::vector<NamedGraph> ReferenceCrossGraphs();

// What the third file adds: flows through a layer, and what stands around the
// layers.
void AddFlows(std::vector<NamedGraph>& graphs);

// Five with positions of an encoder.
std::vector<model::ForwardPass> ReferenceEncoderPasses();

// A prompt with a prefix, single decodes and drafts in one pass.
model::ForwardPass MixedReferencePass();

}  // namespace mansard::testing
