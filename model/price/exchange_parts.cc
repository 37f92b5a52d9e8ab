#include "model/kernels/expert_exchange.h"
#include "model/price/communication_basics.h"
#include "model/price/fine_parts.h"

namespace mansard::model {
namespace {

struct ExchangeTables {
  const ByTier<ExpertExchangeFamily>& low_latency;
  const ByTier<ExpertExchangeFamily>& throughput;
};

ExchangeTables TablesFor(OpKind kind, const FineFamilies& fine) {
  if (kind == OpKind::kExpertDispatch) {
    return {fine.expert_dispatch_low_latency, fine.expert_dispatch};
  }
  return {fine.expert_combine_low_latency, fine.expert_combine};
}

ExchangeProblem ProblemOf(const ExchangeShape& shape,
                          const ResolvedHardware& hardware) {
  ExchangeProblem problem;
  problem.ranks = shape.ranks;
  problem.nodes = shape.nodes();
  problem.tokens = shape.tokens;
  problem.experts_per_token = shape.experts_per_token;
  problem.token =
      ElementBytes(shape.format, static_cast<double>(shape.columns));
  problem.imbalance = shape.imbalance;
  problem.experts = shape.experts;
  problem.multiprocessors = shape.multiprocessors;
  problem.device_multiprocessors = hardware.multiprocessors;
  return problem;
}

// The message is what leaves the rank; an all-to-all's buffer holds the rank's
// own part too.
Parts AsAllToAll(const Op& op, const ExchangeShape& shape,
                 const ResolvedHardware& hardware) {
  const double ranks = shape.ranks;
  Op all = AllToAllOp({shape.ranks, shape.tier, shape.node_ranks}, Bytes());
  all.work = op.work;
  all.work.message *= ranks / (ranks - 1);
  return CollectiveParts(all, hardware);
}

}  // namespace

Parts ExchangeParts(const Op& op, const ResolvedHardware& hardware) {
  const auto& shape = std::get<ExchangeShape>(op.shape);
  const ExchangeProblem problem = ProblemOf(shape, hardware);
  ExchangeTimes times;
  const ExpertExchangeFamily* family = nullptr;
  const auto consider = [&](const ExpertExchangeFamily* candidate) {
    if (candidate == nullptr) return;
    const ExchangeTimes theirs = TimeExchange(*candidate, problem);
    if (family != nullptr && times.time <= theirs.time) return;
    family = candidate;
    times = theirs;
  };
  const ExchangeTables tables =
      TablesFor(op.kind, hardware.view.stack.spec().fine);
  const size_t tier = static_cast<size_t>(shape.tier);
  if (shape.kernels == ExchangeKernels::kDirect) {
    return AsAllToAll(op, shape, hardware);
  }
  if (shape.kernels != ExchangeKernels::kThroughput) {
    consider(tables.low_latency.For(tier));
  }
  if (shape.kernels != ExchangeKernels::kLowLatency) {
    consider(tables.throughput.For(tier));
  }
  const bool granted = family != nullptr;
  consider(granted ? nullptr : tables.low_latency.For(tier));
  consider(granted ? nullptr : tables.throughput.For(tier));
  if (family == nullptr) return AsAllToAll(op, shape, hardware);

  Parts parts = BeginCommunication(op, family->facts, hardware);
  parts.extrapolated = !granted;
  parts.way.algorithm = family == tables.low_latency.For(tier)
                            ? CollectiveAlgorithm::kLowLatency
                            : CollectiveAlgorithm::kThroughput;
  parts.sync = times.fixed;
  parts.chain = times.feed;
  parts.link = times.bus;
  parts.link_resource =
      InnerResource(shape.tier, shape.ranks, shape.nodes(), hardware.view);
  parts.network = times.network;
  parts.network_resource = ResourceOf(shape.tier);
  parts.traffic.link = times.bus_bytes;
  parts.traffic.network = times.network_bytes;
  return parts;
}

}  // namespace mansard::model
