// Layer readers of classes with attention whose layers a row cannot say.
#pragma once

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// Tables of another width than the layers, norms before or after (OPT).
void ReadOptLayers(HfFile& file, ModelGraphSpec& spec);

// Chunks in the rotated layers, none in the others (Llama 4).
void ReadChunkedLayers(HfFile& file, ModelGraphSpec& spec);

// Some layers look at an encoder's positions (Llama 3.2 Vision).
void ReadCrossAttentionLayers(HfFile& file, ModelGraphSpec& spec);

// Each layer's own KV heads and width; parts may be missing (Nemotron NAS).
void ReadBlockConfigLayers(HfFile& file, ModelGraphSpec& spec);

// An indexer's choice that later layers share (GLM-5.2).
void ReadSharedIndexerLayers(HfFile& file, ModelGraphSpec& spec);

// Full layers with heads of their own, values that are keys, shared KV,
// embeddings that enter every layer, experts beside a dense part (Gemma 4).
void ReadGemma4Layers(HfFile& file, ModelGraphSpec& spec);

}  // namespace mansard::model
