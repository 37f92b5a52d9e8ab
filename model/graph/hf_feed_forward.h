// The feed-forward part of a config.json: dense, or experts, and which layers
// have which.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// `hidden_size` 0: not known.
DenseFeedForward ReadDense(HfFile& file, int64_t hidden_size);

// By the row's HfExperts. Experts that are switched off (null, 0) are none:
// expert_count is 0 then.
MixtureOfExperts ReadExperts(HfFile& file);

// One per layer: whether it has experts.
std::vector<bool> ReadExpertLayers(HfFile& file, int64_t layer_count);

}  // namespace mansard::model
