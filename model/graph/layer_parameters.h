// Weights and biases of a layer's parts.
#pragma once

#include <cstdint>

#include "model/graph/graph_spec.h"

namespace mansard::model {

// Projections with their biases; norms are counted apart.
int64_t AttentionParameters(const Attention& attention, int64_t hidden);

// Router and experts included.
int64_t FeedForwardParameters(const FeedForward& feed_forward, int64_t hidden);

// Of those, experts that one token is not sent to.
int64_t IdleParameters(const FeedForward& feed_forward, int64_t hidden);

// All norms of one layer: before attention and feed-forward (one for both in a
// parallel layer), of queries and keys, of latent vectors.
int64_t NormParameters(const LayerKind& kind, int64_t hidden);

}  // namespace mansard::model
