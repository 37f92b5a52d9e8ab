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

// The graph, or the end of the test process with what is wrong.
std::shared_ptr<const model::ModelGraph> BuildGraph(model::ModelGraphSpec spec);

// `tensor` ranks on the profile's first fabric and stack.
model::TargetSpec TargetOn(
    std::shared_ptr<const model::ModelGraph> graph,
    std::shared_ptr<const model::HardwareProfile> hardware, int tensor = 1);

model::Target BuildTarget(const model::TargetSpec& spec);

model::ForwardPass BuildPass(std::vector<model::RequestGroup> groups,
                             int64_t max_context = 1'000'000);

// Decode of `requests` sequences of `context` tokens, one new each.
model::ForwardPass DecodePass(int64_t requests, int64_t context);
// Prefill of `requests` prompts of `tokens`, nothing cached.
model::ForwardPass PrefillPass(int64_t requests, int64_t tokens);

}  // namespace mansard::testing
