// What every model graph must obey.
#pragma once

#include "model/base/violations.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// Adds every broken rule, by the names that the graph's file format has.
void CheckGraph(const ModelGraphSpec& spec, Violations& violations);

// A part alone: below "attention", and "dense" or "experts".
void CheckAttentionRules(const Attention& attention, Violations& violations);
void CheckFeedForwardRules(const FeedForward& feed_forward,
                           Violations& violations);

}  // namespace mansard::model
