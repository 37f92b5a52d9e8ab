// How checkpoints name the linear layers of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// One way in which classes spell the modules of a linear class; below a layer's
// own name. Largest first.
using ModuleSpelling = std::vector<std::string>;

// The known spellings of a class's modules in a layer of this kind; never empty
// for a class that the kind has. `mlx`: MLX renames experts.
std::vector<ModuleSpelling> ModuleSpellings(const LayerKind& kind,
                                            LinearClass linear, bool mlx);
// Whole names of head or embedding.
ModuleSpelling TableNames(LinearClass linear);

// "model.layers.", ...: what stands before a layer's number. One that ends
// another stands after it; the last but one is the common one.
std::vector<std::string> LayerPrefixes();

// Names something that is no linear layer of the decoder: norms, towers,
// convolutions, biases.
bool IsOutsideLinears(absl::string_view module);

}  // namespace mansard::model
