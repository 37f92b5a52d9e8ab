// A kernel that belongs to no model: its work, the rules on it, and its ops.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "absl/status/statusor.h"
#include "model/base/violations.h"
#include "model/estimate/formats.h"
#include "model/graph/model_graph.h"
#include "model/hardware/hardware_profile.h"
#include "model/ops/op.h"
#include "model/workload/forward_pass.h"

namespace mansard::model {

// `batch` times [m, k] x [n, k]^T -> [m, n], weights of their own each.
struct GemmKernel {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
};

// Scores, softmax and values: one op a group, no projections.
struct AttentionKernel {
  ForwardPass pass;
  Attention attention;  // Heads of one rank.
  bool full = false;    // Not causal. Grouped queries without a window only.
};

// Router to combine, and the shared experts: of one layer.
struct ExpertsKernel {
  int64_t tokens = 0;
  int64_t hidden = 0;
  MixtureOfExperts experts;
  ExpertRouting routing;
};

struct CollectiveKernel {
  enum class Operation { kAllReduce, kAllGather };
  Operation operation = Operation::kAllReduce;
  double message_bytes = 0;
  int ranks = 0;
};

struct ElementwiseKernel {
  enum class Operation {
    kNorm,
    kRope,
    kActivation,
    kGatedActivation,
    kResidual,
    kAdd,
    kQuantize,
    kDequantize,
    kEmbedding,
    kSampling,
  };
  Operation operation = Operation::kNorm;
  int64_t rows = 0;
  int64_t columns = 0;
  // Further operations in the same kernel, one FLOP an element each.
  int fused_operations = 0;
};

using KernelWork = std::variant<GemmKernel, AttentionKernel, ExpertsKernel,
                                CollectiveKernel, ElementwiseKernel>;

struct KernelSpec {
  std::shared_ptr<const HardwareProfile> hardware;
  const Fabric* fabric = nullptr;      // One of the profile's.
  const KernelStack* stack = nullptr;  // One of the profile's.
  FormatChoice formats;                // Default bf16.
  bool unfused_attention = false;
  KernelWork work;
};

// Every rule on the kernel's own sizes; see EstimateKernel. `fabric`: null
// where it is not known; ranks are then only checked to be two or more.
void CheckKernel(const KernelWork& work, const Fabric* fabric,
                 Violations& violations);

// The formats that the kernel needs; FAILED_PRECONDITION where they cannot be
// priced. Collectives and element-wise work need no tensor unit.
absl::StatusOr<ResolvedFormats> FormatsOf(const KernelSpec& spec);

// One op a group: the attention kinds but cross-attention, as in a model.
// Precondition: CheckKernel adds nothing.
OpList AttentionKernelOps(const AttentionKernel& kernel,
                          const PassFormats& formats, bool unfused);

// Precondition: CheckKernel adds nothing.
OpList KernelOps(const KernelSpec& spec, const PassFormats& formats);

}  // namespace mansard::model
