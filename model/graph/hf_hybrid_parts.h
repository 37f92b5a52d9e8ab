// Layers of a recurrent mixer or attention, each with a feed-forward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"
#include "model/graph/hf_patterns.h"

namespace mansard::model {

// Whether one of the flags has the value.
bool Any(const std::vector<bool>& flags, bool value);

// Lists the keys of attention as ones that change no cost, for files without
// such a layer.
void IgnoreAttention(HfFile& file);

// The feed-forward of each layer.
struct FeedForwards {
  std::vector<bool> has_experts;  // One a layer.
  MixtureOfExperts experts;
  DenseFeedForward dense;

  FeedForward Of(size_t layer) const {
    if (has_experts[layer]) return experts;
    return dense;
  }
};

// Reads the widths that some layer needs. `has_experts` of every layer, or
// empty where it could not be read.
FeedForwards ReadFeedForwards(HfFile& file, int64_t hidden_size,
                              std::vector<bool> has_experts);

// By the row's rule; all dense where the class has no experts.
FeedForwards ReadFeedForwards(HfFile& file, int64_t hidden_size,
                              int64_t layer_count);

// One mixer a layer and a feed-forward. Adds nothing where a list could not be
// read.
void AddHybridLayers(HfFile& file, const AttentionLayers& attention_layers,
                     const Attention& attention,
                     const RecurrentMixer& recurrent,
                     const FeedForwards& feed_forwards, ModelGraphSpec& spec);

}  // namespace mansard::model
