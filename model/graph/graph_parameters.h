// Weights and biases of a graph beyond its layers.
#pragma once

#include <cstdint>

#include "model/graph/graph_spec.h"
#include "model/graph/tensor_class.h"

namespace mansard::model {

// What stands once: tables, head, what leads to the layers and from them.
ParameterCounts AroundLayersParameters(const ModelGraphSpec& spec);

// Of those, tables by token id: embeddings and, unless tied, the head's.
int64_t TableParameters(const ModelGraphSpec& spec);

// One drafting module with its layers.
ParameterCounts MtpModuleParameters(const ModelGraphSpec& spec);

}  // namespace mansard::model
