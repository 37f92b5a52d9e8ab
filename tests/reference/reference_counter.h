// A slow counter of the work of one pass: it walks every index of every loop of
// one rank and marks what it touches. Kept to check Lower's closed forms;
// never linked into a product. Only for tiny shapes.
#pragma once

#include <map>
#include <string>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "tests/reference/tally.h"

namespace mansard::testing {

// Work of one rank by part ("qkv_proj", "attention", ...), summed over layers
// and groups; of modules that draft apart ("draft.qkv_proj"). Norms take the
// residual add with them. The rank holds the KV heads that its query heads use,
// however many ranks share one; latent vectors and the router are on every
// rank. Of the embeddings, the bytes of all ranks' rows.
std::map<std::string, ReferenceWork> CountPass(const model::ModelGraph& graph,
                                               const model::ForwardPass& pass,
                                               const ReferenceOptions& options);

}  // namespace mansard::testing
