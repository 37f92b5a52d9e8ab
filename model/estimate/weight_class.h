// Which class of tensors an op's weights belong to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/base/units.h"
#include "model/graph/model_graph.h"
#include "model/graph/tensor_class.h"
#include "model/ops/op.h"

namespace mansard::model {

// Of the weights that ops of the part hold. Parts that hold none themselves,
// and at most the scales of their layer: kScale.
TensorClass ClassOf(Part part);

// Weights of one rank by class, those of drafting modules apart.
struct WeightBytesByClass {
  std::array<Bytes, kTensorClassCount> by_class = {};
  Bytes drafting;

  Bytes operator[](TensorClass tensor_class) const {
    return by_class[static_cast<size_t>(tensor_class)];
  }
  Bytes Total() const;
};
// What `ops` hold. Layers that the pass skips are held by the embedding's op,
// and count there.
WeightBytesByClass WeightsByClass(const OpList& ops);

// What the ops' mxfp4 experts take beyond their weights where their width is
// padded to a multiple of `multiple`.
Bytes ExpertPadding(const OpList& ops, const ModelGraph& graph,
                    int64_t multiple);

}  // namespace mansard::model
