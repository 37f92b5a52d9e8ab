// The attention part of a config.json: heads, biases, norms and rotation.
#pragma once

#include <cstdint>

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// Attention of a layer without window. `hidden_size` 0: not known.
GroupedQueryAttention ReadAttention(HfFile& file, int64_t hidden_size);

// DeepSeek-V2's latent attention; with an indexer where the row says so.
// Values without a size of their own are hidden_size / query heads wide.
LatentAttention ReadLatentAttention(HfFile& file, int64_t hidden_size);

// Checks the keys of biases that the class does not read: they may only say
// what the class does.
void CheckFixedBiases(HfFile& file);

}  // namespace mansard::model
