// Small graphs and targets for tests.
#pragma once

#include <memory>
#include <vector>

#include "model/estimate/estimate.h"
#include "model/graph/model_graph.h"
#include "tests/toy/layer_parts.h"

namespace mansard::testing {

// Hidden 16, 4 query heads on 2 KV heads of size 6, gated width 24, vocabulary
// 40, two equal layers, untied, bf16, context 1000.
model::ModelGraphSpec TinyGraph();
// The same with experts: four of width 8, two a token, and shared ones of 12.
model::ModelGraphSpec TinyMoeGraph();
// The same with latent attention: 4 query heads, ranks 10 (queries) and 6, keys
// of 3 + 2, values of 4.
model::ModelGraphSpec TinyLatentGraph();

// A small mixer of the rule with every part that the rule's models have: four
// heads (Mamba: eight channels), states of 3 x 2 (Mamba: 3 x 1), convolutions
// where there are any 4 wide.
model::RecurrentMixer TinyMixer(model::StateRule rule);
// Two layers with that mixer and TinyGraph's feed-forward, then TinyGraph's.
model::ModelGraphSpec TinyRecurrentGraph(model::StateRule rule);
// TinyGraph with a Mamba 2 mixer beside each attention, its state in fp32.
model::ModelGraphSpec TinySideBySideGraph();
// Layers of a Mamba 2 mixer and nothing else: no cache grows.
model::ModelGraphSpec TinyPureMambaGraph();

// TinyMoeGraph with four residual streams.
model::ModelGraphSpec TinyStreamsGraph();
// TinyGraph and a module that drafts, a layer with TinyMoeGraph's experts.
model::ModelGraphSpec TinyDraftingGraph();
// TinyGraph's layers with norms after, on both sides, and parallel with two;
// LayerNorms, a second embedding of 3 and a position table.
model::ModelGraphSpec TinyFlowsGraph();
// A layer an attention, then a layer of experts: latent, with a norm on the way
// back, biases, and gated shared experts.
model::ModelGraphSpec TinyLatentMoeGraph();

// The graph, or the end of the test process with what is wrong.
std::shared_ptr<const model::ModelGraph> BuildGraph(model::ModelGraphSpec spec);

// `tensor` ranks on the profile's first fabric and stack.
model::TargetSpec TargetOn(
    std::shared_ptr<const model::ModelGraph> graph,
    std::shared_ptr<const model::HardwareProfile> hardware, int tensor = 1);

model::Target BuildTarget(const model::TargetSpec& spec);

model::ForwardPass BuildPass(model::RequestGroups groups,
                             int64_t max_context = 1'000'000);

// Decode of `requests` sequences of `context` tokens, one new each.
model::ForwardPass DecodePass(int64_t requests, int64_t context);
// Prefill of `requests` prompts of `tokens`, nothing cached.
model::ForwardPass PrefillPass(int64_t requests, int64_t tokens);

}  // namespace mansard::testing
