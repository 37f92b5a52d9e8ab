// Weights and biases of a layer's parts, in closed form. Every count here is
// within 64 bits for parts that pass graph_rules.
#pragma once

#include <cstdint>

#include "model/graph/graph_spec.h"
#include "model/graph/tensor_class.h"

namespace mansard::model {

// Projections with their biases, sinks, indexer and compressor; norms are
// counted apart.
int64_t AttentionParameters(const Attention& attention, int64_t hidden);

// Projections with their biases, convolution, decays, skips; norms are counted
// apart.
int64_t RecurrentParameters(const RecurrentMixer& mixer, int64_t hidden);

// Everything but norms: dense feed-forward, or router, experts and shared
// experts.
ParameterCounts FeedForwardParameters(const FeedForward& feed_forward,
                                      int64_t hidden);

// Of those, experts that one token is not sent to.
int64_t IdleParameters(const FeedForward& feed_forward, int64_t hidden);

// Norms of queries and keys, of latent vectors and compressed entries.
// `norm_bias`: the model's norms have a bias as well as a weight.
int64_t AttentionNormParameters(const Attention& attention, bool norm_bias);

// Of a recurrent mixer's output, time step, B and C.
int64_t RecurrentNormParameters(const RecurrentMixer& mixer);

// All norms of one layer: around mixer and feed-forward, and inside
// them.
int64_t NormParameters(const LayerKind& kind, int64_t hidden, bool norm_bias);

// One layer of the graph, with its share of what the graph adds to every layer
// (residual streams, a second embedding's projections).
ParameterCounts LayerParameters(const LayerKind& kind,
                                const ModelGraphSpec& spec);

}  // namespace mansard::model
