#include "model/estimate/kernel_collective.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/price/collective_algorithms.h"
#include "model/workload/expert_load.h"
#include "model/workload/layout.h"

namespace mansard::model {
namespace {

using Operation = CollectiveKernel::Operation;

constexpr double kMaxMessageBytes = 1e15;
constexpr double kMaxHidden = 1 << 24;
constexpr double kMaxExperts = 1 << 16;

bool IsExchange(Operation operation) {
  return operation == Operation::kExpertDispatch ||
         operation == Operation::kExpertCombine;
}

// Beyond one node there must be a network.
bool HasNetwork(const Fabric* fabric) {
  return fabric == nullptr || fabric->FindLink(LinkTier::kRdma) != nullptr;
}

int NodeDevices(const Fabric* fabric) {
  return fabric == nullptr ? Parallelism::kMaxDevices : fabric->NodeDevices();
}

void CheckRanks(const CollectiveKernel& kernel, const Fabric* fabric,
                Violations& violations) {
  const int node_devices = NodeDevices(fabric);
  const bool network = HasNetwork(fabric);
  const int most = kernel.operation == Operation::kSendReceive ? 2
                   : network ? Parallelism::kMaxDevices
                             : node_devices;
  if (!violations.CheckRange("rank_count", kernel.ranks, 2, most) ||
      kernel.nodes == 0) {
    return;
  }
  if (!violations.CheckRange("node_count", kernel.nodes, 1,
                             network ? kernel.ranks : 1)) {
    return;
  }
  if (kernel.ranks % kernel.nodes != 0) {
    violations.Add("node_count",
                   absl::StrCat("is ", kernel.nodes, "; must divide the ",
                                kernel.ranks, " ranks: as many in each node"));
  } else if (kernel.ranks / kernel.nodes > node_devices) {
    violations.Add(
        "node_count",
        absl::StrCat("is ", kernel.nodes, ", which puts ",
                     kernel.ranks / kernel.nodes, " ranks in a node; one of ",
                     "the fabric joins ", node_devices));
  }
}

void CheckExchanged(const ExchangedTokens& exchanged, int ranks,
                    Violations& violations) {
  Violations::Scope scope(violations, "exchanged");
  violations.CheckRange("token_count", static_cast<double>(exchanged.tokens), 1,
                        static_cast<double>(ForwardPass::kMaxNewTokens));
  violations.CheckRange("hidden_size", static_cast<double>(exchanged.hidden), 1,
                        kMaxHidden);
  if (violations.CheckRange("expert_count", exchanged.experts, 1,
                            kMaxExperts) &&
      ranks >= 2 && exchanged.experts % ranks != 0) {
    violations.Add(
        "expert_count",
        absl::StrCat("is ", exchanged.experts, "; must be a multiple of the ",
                     ranks, " ranks, which hold equally many"));
  }
  violations.CheckRange("experts_per_token_count", exchanged.experts_per_token,
                        1, std::max(1, exchanged.experts));
  const double imbalance = exchanged.imbalance.value_or(1);
  if (!(imbalance >= 1 && imbalance <= std::max(1, ranks))) {
    violations.Add("imbalance_ratio",
                   absl::StrCat("is ", imbalance, "; allowed: 1 to the ", ranks,
                                " ranks, one of which has all tokens then"));
  }
  violations.CheckRange("multiprocessor_count", exchanged.multiprocessors, 0,
                        kMaxExperts);
}

void CheckWork(const CollectiveKernel& kernel, Violations& violations) {
  if (!IsExchange(kernel.operation)) {
    if (!(kernel.message_bytes > 0 &&
          kernel.message_bytes <= kMaxMessageBytes)) {
      violations.Add("message_bytes", absl::StrCat("is ", kernel.message_bytes,
                                                   "; allowed: above 0, at "
                                                   "most 1e15"));
    }
    if (kernel.exchanged.has_value()) {
      violations.Add("exchanged",
                     "is set; allowed: for expert_dispatch, expert_combine");
    }
    return;
  }
  if (kernel.message_bytes != 0) {
    violations.Add("message_bytes",
                   absl::StrCat("is ", kernel.message_bytes,
                                "; must be unset: tokens say how many"));
  }
  if (kernel.exchanged.has_value()) {
    CheckExchanged(*kernel.exchanged, kernel.ranks, violations);
  } else {
    violations.Add("exchanged", "is required");
  }
}

ExchangeKernels KernelsOf(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kLowLatency:
      return ExchangeKernels::kLowLatency;
    case CollectiveAlgorithm::kThroughput:
      return ExchangeKernels::kThroughput;
    case CollectiveAlgorithm::kDirect:
      return ExchangeKernels::kDirect;
    case CollectiveAlgorithm::kAuto:
    case CollectiveAlgorithm::kOneShot:
    case CollectiveAlgorithm::kTwoShot:
    case CollectiveAlgorithm::kRing:
    case CollectiveAlgorithm::kTree:
    case CollectiveAlgorithm::kInSwitch:
    case CollectiveAlgorithm::kHierarchical:
      return ExchangeKernels::kAuto;
  }
  return ExchangeKernels::kAuto;
}

// All ranks have as many tokens.
Op ExchangeKernelOp(const CollectiveKernel& kernel,
                    const CollectiveShape& where, const PassFormats& formats) {
  const ExchangedTokens& exchanged = *kernel.exchanged;
  ExchangeShape shape;
  shape.ranks = where.ranks;
  shape.tier = where.tier;
  shape.node_ranks = where.node_ranks;
  shape.tokens = static_cast<double>(exchanged.tokens);
  shape.experts_per_token = exchanged.experts_per_token;
  shape.columns = exchanged.hidden;
  shape.experts = exchanged.experts;
  shape.multiprocessors = exchanged.multiprocessors;
  shape.kernels = KernelsOf(kernel.algorithm);
  shape.imbalance = exchanged.imbalance.value_or(
      BusiestRank({}, exchanged.tokens * kernel.ranks,
                  exchanged.experts_per_token, exchanged.experts, kernel.ranks)
          .imbalance);
  if (kernel.operation == Operation::kExpertDispatch) {
    shape.format = formats.precision.activations;
    return ExpertDispatchOp(shape);
  }
  shape.format = formats.hidden;
  return ExpertCombineOp(shape);
}

}  // namespace

int NodesOf(const CollectiveKernel& kernel, const Fabric& fabric) {
  if (kernel.nodes != 0) return kernel.nodes;
  int nodes = 1;
  while (kernel.ranks % nodes != 0 ||
         kernel.ranks / nodes > fabric.NodeDevices()) {
    ++nodes;
  }
  return nodes;
}

LinkTier TierOf(const CollectiveKernel& kernel, const Fabric& fabric) {
  return NodesOf(kernel, fabric) > 1 ? LinkTier::kRdma
                                     : fabric.LinkFor(kernel.ranks)->tier;
}

void CheckCollective(const CollectiveKernel& kernel, const Fabric* fabric,
                     Violations& violations) {
  Violations::Scope scope(violations, "collective");
  CheckWork(kernel, violations);
  CheckRanks(kernel, fabric, violations);
}

Op CollectiveKernelOp(const CollectiveKernel& kernel, const Fabric& fabric,
                      const PassFormats& formats) {
  const int nodes = NodesOf(kernel, fabric);
  const CollectiveShape shape{kernel.ranks, TierOf(kernel, fabric),
                              nodes == 1 ? 0 : kernel.ranks / nodes,
                              kernel.algorithm};
  const Bytes message = Bytes::Of(kernel.message_bytes);
  switch (kernel.operation) {
    case Operation::kAllReduce:
      return AllReduceOp(shape, message);
    case Operation::kAllGather:
      return AllGatherOp(shape, message);
    case Operation::kReduceScatter:
      return ReduceScatterOp(shape, message);
    case Operation::kAllToAll:
      return AllToAllOp(shape, message);
    case Operation::kBroadcast:
      return BroadcastOp(shape, message);
    case Operation::kSendReceive:
      return SendReceiveOp(shape, message);
    case Operation::kExpertDispatch:
    case Operation::kExpertCombine:
      return ExchangeKernelOp(kernel, shape, formats);
  }
  return AllReduceOp(shape, message);
}

void CheckAlgorithm(const CollectiveKernel& kernel, const Op& op,
                    const HardwareView& view, Violations& violations) {
  if (kernel.algorithm == CollectiveAlgorithm::kAuto) return;
  const std::vector<CollectiveAlgorithm> known = AlgorithmsFor(op, view);
  if (std::find(known.begin(), known.end(), kernel.algorithm) != known.end()) {
    return;
  }
  std::string allowed;
  for (CollectiveAlgorithm algorithm : known) {
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ",
                    AlgorithmName(algorithm));
  }
  violations.Add(
      "collective.algorithm",
      absl::StrCat(
          "is \"", AlgorithmName(kernel.algorithm),
          "\"; the kernel stack has for these ranks and bytes: ", allowed));
}

}  // namespace mansard::model
