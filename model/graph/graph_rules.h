// What every model graph must obey: ranges of sizes, what divides what, what
// goes together. Sizes are small enough that no count overflows 64 bits.
#pragma once

#include "model/base/violations.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// Of hidden and intermediate sizes, ranks, and products of heads and their
// sizes.
inline constexpr double kMaxWidth = 1 << 24;
// Of heads, head sizes and experts.
inline constexpr double kMaxHeads = 65536;
inline constexpr double kMaxContext = 1e9;

// Adds every broken rule, by the names that the graph's file format has.
void CheckGraph(const ModelGraphSpec& spec, Violations& violations);

// A part alone: below "attention"; below "recurrent"; below "dense" or
// "experts".
void CheckAttentionRules(const Attention& attention, Violations& violations);
void CheckRecurrentRules(const RecurrentMixer& mixer, Violations& violations);
void CheckFeedForwardRules(const FeedForward& feed_forward,
                           Violations& violations);
// Formats by class: of a layer, below it; of head and embedding.
void CheckLayerFormats(const LayerKind& kind, Violations& violations);
void CheckGraphFormats(const ModelGraphSpec& spec, Violations& violations);

}  // namespace mansard::model
