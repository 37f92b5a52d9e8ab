// Layer readers of classes whose layers have a recurrent mixer in place of
// attention, or beside it. Each is named by the structure, and reads what the
// row of the class and the file say.
#pragma once

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// Gated DeltaNet in all but every n-th layer, which has gated attention
// (Qwen3-Next, Qwen3.5). Dense or experts by the row.
void ReadGatedDeltaLayers(HfFile& file, ModelGraphSpec& spec);

// Mamba (1) and attention, dense and experts, each in its own period (Jamba).
void ReadPeriodicMambaLayers(HfFile& file, ModelGraphSpec& spec);

// Mamba 2 or attention by a list, each with a feed-forward: Granite 4
// (`layer_types`; shared experts alone where there are no others) and Bamba
// (`attn_layer_indices`).
void ReadGraniteHybridLayers(HfFile& file, ModelGraphSpec& spec);
void ReadBambaLayers(HfFile& file, ModelGraphSpec& spec);

// Attention and Mamba 2 side by side in every layer (Falcon-H1).
void ReadSideBySideLayers(HfFile& file, ModelGraphSpec& spec);

// Lightning attention and attention by a list, experts in each layer
// (MiniMax-Text-01, MiniMax-M1).
void ReadLightningLayers(HfFile& file, ModelGraphSpec& spec);

// Kimi Delta Attention and latent attention by two lists (Kimi Linear, Kimi
// K3).
void ReadKimiDeltaLayers(HfFile& file, ModelGraphSpec& spec);

// One part a layer, by letters or words (Nemotron-H).
void ReadBlockLayers(HfFile& file, ModelGraphSpec& spec);

// Layers that are one Mamba mixer each (MambaForCausalLM,
// FalconMambaForCausalLM, Mamba2ForCausalLM).
void ReadMambaLayers(HfFile& file, ModelGraphSpec& spec);
void ReadFalconMambaLayers(HfFile& file, ModelGraphSpec& spec);
void ReadMamba2Layers(HfFile& file, ModelGraphSpec& spec);

// The same as the first publications wrote it: `d_model`, `n_layer`, `ssm_cfg`.
void ReadStateSpacesLayers(HfFile& file, ModelGraphSpec& spec);

// Attention to a window and to compressed positions (DeepSeek-V4).
void ReadCompressedLayers(HfFile& file, ModelGraphSpec& spec);

}  // namespace mansard::model
