// Which layers see a window or a chunk, and which are not rotated.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/hf_file.h"

namespace mansard::model {

struct LayerWindows {
  int64_t size = 0;          // Positions; 0: no layer has a window.
  std::vector<bool> layers;  // One per layer: whether it has the window.
};

// By the row's WindowRule and `layer_types`. A window that no context fills is
// none, which is noted. `layer_count` and `max_context` 0: not known.
LayerWindows ReadWindows(HfFile& file, int64_t layer_count,
                         int64_t max_context);

// One per layer: whether keys and queries are rotated there. By
// `no_rope_layers` (1: rotated), else every `no_rope_layer_interval`-th is not;
// 0 as `default_interval`: all are.
std::vector<bool> ReadRotatedLayers(HfFile& file, int64_t layer_count,
                                    int64_t default_interval);

}  // namespace mansard::model
