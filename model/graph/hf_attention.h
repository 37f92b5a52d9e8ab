// The attention part of a config.json: heads, biases, and which layers have a
// window.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/hf_file.h"
#include "model/graph/model_graph.h"

namespace mansard::model {

// Attention of a layer without window. `hidden_size` 0: not known.
GroupedQueryAttention ReadAttention(HfFile& file, int64_t hidden_size);

// Whether the feed-forward projections have biases.
bool ReadFeedForwardBias(HfFile& file);

struct LayerWindows {
  int64_t size = 0;          // Positions; 0: no layer has a window.
  std::vector<bool> layers;  // One per layer: whether it has the window.
};

// `layer_count` 0: not known.
LayerWindows ReadWindows(HfFile& file, int64_t layer_count);

}  // namespace mansard::model
