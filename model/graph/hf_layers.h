// The layers of a decoder, put together from the parts of a config.json.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"
#include "model/graph/hf_windows.h"

namespace mansard::model {

// 0 with a violation when it cannot be read.
int64_t ReadLayerCount(HfFile& file);

// Appends a layer. Layers alike share a kind, named by its parts ("window",
// "mamba2-moe"); a name that is taken gets a number.
void AddLayer(LayerKind kind, ModelGraphSpec& spec);

// The index of the kind, which is added where there is none like it.
int KindIndex(LayerKind kind, ModelGraphSpec& spec);

// Adds `modules` modules of `layers` each for the tokens after the next.
// Nothing where `modules` is 0.
void AddMtp(int64_t modules, const std::vector<LayerKind>& layers,
            ModelGraphSpec& spec);

// By the row's MtpRule; 0 where there are none.
int64_t ReadMtpModules(HfFile& file);

// A layer with what the row says of norms and parallel branches, and no parts.
LayerKind BareLayer(HfFile& file);

// What a row and a file say of all layers, before they are put together.
struct LayerParts {
  LayerKind bare;
  Attention attention;
  LayerWindows windows;
  std::vector<bool> rotated;  // One per layer, as has_experts and windows.
  MixtureOfExperts experts;
  std::vector<bool> has_experts;
  DenseFeedForward dense;  // Read where some layer has no experts.
};
LayerParts ReadLayerParts(HfFile& file, const ModelGraphSpec& spec);
// The layer at `i`, 0 to the layer count - 1.
LayerKind LayerAt(const HfFamily& family, const LayerParts& parts, size_t i);
// Reads MTP keys; the modules' layers are like `last`.
void ReadMtp(HfFile& file, const LayerKind& last, ModelGraphSpec& spec);

// What the rows say: grouped or latent attention, windows, dense and expert
// layers, MTP layers like the last one.
void ReadLayers(HfFile& file, ModelGraphSpec& spec);

}  // namespace mansard::model
