// One kernel that belongs to no model, priced as it is inside one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/base/violations.h"
#include "model/estimate/kernel_ops.h"
#include "model/ops/op.h"
#include "model/price/price.h"

namespace mansard::model {

struct KernelEstimate {
  OpList ops;
  std::vector<OpTime> times;       // One an op.
  std::vector<std::string> names;  // One an op: its kind, or part of a layer.
  // Sums over the ops.
  Seconds floor;
  Seconds overlapped;
  Seconds estimate;
  Seconds serial;
  Seconds p10;
  Seconds p90;
  Bound bound = Bound::kMemory;
  FlopsPerByte intensity;  // Tensor and vector work; zero without bytes.
  FlopsPerByte ridge;      // Of the datasheet; zero where no rate is known.
  std::vector<std::string> assumptions;
  // Of the families that the times name, where it is not the spec's.
  std::shared_ptr<const KernelStack> stack;
};

// Violations are below "gemm", "attention", "moe", "collective" and
// "elementwise", by the names of the wire. A format that the device or the
// stack cannot compute in, or a link without collectives, is
// FAILED_PRECONDITION as for Target::Create; INVALID_ARGUMENT stands for
// `violations` not empty, as where an algorithm is asked for that neither the
// stack nor the ranks have.
absl::StatusOr<KernelEstimate> EstimateKernel(const KernelSpec& spec,
                                              Violations& violations);

}  // namespace mansard::model
