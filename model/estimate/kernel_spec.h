// A kernel that belongs to no model: its work, and where it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "model/estimate/formats.h"
#include "model/graph/model_graph.h"
#include "model/hardware/collective_algorithm.h"
#include "model/hardware/hardware_profile.h"
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

// Tokens on their way to the ranks of their experts, or back.
struct ExchangedTokens {
  int64_t tokens = 0;  // Of one rank.
  int64_t hidden = 0;
  int experts_per_token = 0;
  int experts = 0;  // Of all ranks, which hold equally many.
  // What the busiest rank has of the mean; empty: the expected maximum where
  // tokens choose independently.
  std::optional<double> imbalance = std::nullopt;
  int multiprocessors = 0;  // That move them; 0: as the library does.
};

struct CollectiveKernel {
  enum class Operation {
    kAllReduce,
    kAllGather,
    kReduceScatter,
    kAllToAll,
    kBroadcast,
    kSendReceive,
    kExpertDispatch,  // In the format of activations,
    kExpertCombine,   // in that of the residual stream.
  };
  Operation operation = Operation::kAllReduce;
  double message_bytes = 0;  // Of all but exchanges.
  int ranks = 0;
  int nodes = 0;  // 0: as few as the fabric allows.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  std::optional<ExchangedTokens> exchanged = std::nullopt;  // Of exchanges.
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

}  // namespace mansard::model
