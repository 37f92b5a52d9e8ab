#include "model/price/collective_way.h"
#include "model/price/communication_basics.h"
#include "model/price/fine_parts.h"

namespace mansard::model {
namespace {

using Algorithm = CollectiveAlgorithm;

Parts CollectiveParts(const Op& op, const CollectiveProblem& problem,
                      const CollectiveShape& shape,
                      const ResolvedHardware& hardware) {
  const HardwareView& view = hardware.view;
  const int nodes = shape.nodes();
  const Algorithm wish =
      shape.algorithm == Algorithm::kAuto && op.kind == OpKind::kAllReduce
          ? view.stack.spec().all_reduce_algorithm
          : shape.algorithm;
  Way way = BestWay(problem, shape.tier, nodes, wish, view);
  const bool granted = way.facts != nullptr;
  if (!granted) {
    way = BestWay(problem, shape.tier, nodes, Algorithm::kAuto, view);
  }
  Parts parts = BeginCommunication(op, *way.facts, hardware);
  parts.extrapolated = !granted;
  parts.transferred = way.borrowed;
  parts.way = way.how;
  parts.sync = way.fixed;
  parts.link = way.link;
  parts.link_resource = InnerResource(shape.tier, shape.ranks, nodes, view);
  parts.network = way.network;
  parts.network_resource = ResourceOf(shape.tier);
  parts.traffic.link = way.link_bytes;
  parts.traffic.network = way.network_bytes;
  return parts;
}

}  // namespace

Parts CollectiveParts(const Op& op, const ResolvedHardware& hardware) {
  const auto& shape = std::get<CollectiveShape>(op.shape);
  // Of links side by side, each carries its part; a shared one, more.
  Parts parts = CollectiveParts(
      op, {CollectiveOf(op.kind), shape.ranks, op.work.message / shape.links},
      shape, hardware);
  parts.traffic.link *= shape.links;
  parts.traffic.network *= shape.links;
  return parts;
}

}  // namespace mansard::model
