// Which products have a family with tiles.
#pragma once

#include "model/hardware/kernel_stack.h"
#include "model/ops/op.h"

namespace mansard::model {

// Null where the general family serves the product: weights that are widened on
// the way are other kernels' work; of four bits there are such kernels alone.
inline const TiledGemmFamily* TiledFamilyFor(const GemmShape& shape,
                                             const KernelStackSpec& stack) {
  if (shape.weights != shape.input && shape.weights != Format::kInt4) {
    return nullptr;
  }
  return stack.fine.plain_gemm.For(static_cast<size_t>(shape.weights));
}

}  // namespace mansard::model
