#include <algorithm>

#include "model/base/distinct_places.h"
#include "model/price/parts.h"
#include "model/price/price.h"
#include "model/price/work_on_device.h"

namespace mansard::model {

bool StaysInL2(const Op& op, const Device& device) {
  return StaysInL2(op, device.L2Capacity());
}

std::optional<Format> TensorFormat(const Op& op) {
  if (const auto* gemm = std::get_if<GemmShape>(&op.shape)) {
    return gemm->compute;
  }
  if (const auto* grouped = std::get_if<GroupedGemmShape>(&op.shape)) {
    return grouped->compute;
  }
  if (const auto* attention = std::get_if<AttentionShape>(&op.shape)) {
    return attention->input;
  }
  if (const auto* latent = std::get_if<LatentAttentionShape>(&op.shape)) {
    return latent->input;
  }
  if (const auto* entries = std::get_if<CompressedAttentionShape>(&op.shape)) {
    return entries->input;
  }
  if (const auto* index = std::get_if<IndexShape>(&op.shape)) {
    return index->input;
  }
  if (const auto* recurrent = std::get_if<RecurrentShape>(&op.shape)) {
    return recurrent->input;
  }
  return std::nullopt;
}

Seconds TensorTimeAtPeak(const Op& op, const Device& device) {
  const std::optional<Format> format = TensorFormat(op);
  if (!format.has_value() || op.work.tensor == Flops::Zero()) {
    return Seconds::Zero();
  }
  return op.work.tensor / device.TensorRate(*format);
}

int CollectiveRounds(const Op& op) {
  return op.kind == OpKind::kAllReduce ? 2 : 1;
}

Bytes RingWireBytes(const Op& op, const CollectiveShape& shape) {
  if (op.kind == OpKind::kSendReceive || op.kind == OpKind::kBroadcast) {
    return op.work.message;
  }
  return op.work.message * (static_cast<double>(CollectiveRounds(op)) *
                            (shape.ranks - 1) / shape.ranks);
}

namespace {

// Least bytes that one rank sends, whatever the algorithm: a reduction in the
// switch takes each rank's buffer once and returns one n-th to be multicast
// ((n + 1) / n); else 2 (n - 1) / n.
Bytes LeastWireBytes(const Op& op, const CollectiveShape& shape,
                     bool in_network_reduction) {
  const Bytes ring = RingWireBytes(op, shape);
  if (op.kind != OpKind::kAllReduce || !in_network_reduction) return ring;
  return Min(ring, op.work.message * ((shape.ranks + 1.0) / shape.ranks));
}

// Bytes that must pass at rates: `between` over a rank's way out of its node,
// `all` over that and its links inside.
Seconds AcrossNodes(Bytes between, Bytes all, const Link& network,
                    const Link* inside, int nodes, int node_ranks) {
  const BytesPerSecond out = network.BandwidthAmong(nodes);
  BytesPerSecond together = out;
  if (inside != nullptr && node_ranks > 1) {
    together += inside->BandwidthAmong(node_ranks);
  }
  return Max(between / out, all / together);
}

// Least bytes of a rank's way out: those of a collective of the nodes, of which
// its ranks carry an equal part each. All-to-alls have their own.
Bytes LeastBetween(const Op& op, const CollectiveShape& shape,
                   const Link& network) {
  const double node_ranks = shape.node_ranks;
  if (op.kind == OpKind::kAllToAll) {
    return op.work.message * ((shape.ranks - node_ranks) / shape.ranks);
  }
  return LeastWireBytes(op, {shape.nodes(), shape.tier},
                        network.in_network_reduction) /
         node_ranks;
}

Seconds CollectiveFloor(const Op& op, const CollectiveShape& shape,
                        const Fabric& fabric) {
  const Link& link = *fabric.FindLink(shape.tier);
  if (op.kind == OpKind::kSendReceive) {
    const int peers = shape.nodes() == 1 ? shape.ranks : shape.nodes();
    return op.work.message / (link.BandwidthAmong(peers) * shape.links);
  }
  if (shape.nodes() == 1) {
    return LeastWireBytes(op, shape, link.in_network_reduction) /
           link.BandwidthAmong(shape.ranks);
  }
  const Link* inside = fabric.LinkFor(shape.node_ranks);
  const bool adds = link.in_network_reduction ||
                    (inside != nullptr && inside->in_network_reduction);
  return AcrossNodes(LeastBetween(op, shape, link),
                     LeastWireBytes(op, shape, adds), link, inside,
                     shape.nodes(), shape.node_ranks);
}

// One copy of a token to each other node that holds some of its experts; the
// mean, where nothing says that the busiest rank's node is the busiest.
Seconds ExchangeFloor(const Op& op, const ExchangeShape& shape,
                      const Fabric& fabric) {
  const Link& link = *fabric.FindLink(shape.tier);
  const int nodes = shape.nodes();
  if (nodes == 1) return op.work.message / link.BandwidthAmong(shape.ranks);
  const Bytes token =
      ElementBytes(shape.format, static_cast<double>(shape.columns));
  const double copies = shape.tokens *
                        DistinctPlaces(nodes, shape.experts_per_token) *
                        (nodes - 1) / nodes;
  return AcrossNodes(copies * token, op.work.message, link,
                     fabric.LinkFor(shape.node_ranks), nodes, shape.node_ranks);
}

}  // namespace

Seconds FloorOf(const Op& op, const HardwareView& hardware) {
  return FloorOf(op, TensorTimeAtPeak(op, hardware.device),
                 ResolvedHardware(hardware));
}

Seconds FloorOf(const Op& op, Seconds tensor_at_peak,
                const ResolvedHardware& hardware) {
  Seconds floor = tensor_at_peak;
  Bytes hbm = op.work.weights + op.work.kv_read + op.work.kv_write;
  if (StaysInL2(op, hardware.l2_capacity)) {
    floor = Max(floor, op.work.activations() / hardware.l2);
  } else {
    hbm += op.work.activations();
  }
  if (hardware.view.warm_cache) {
    hbm = Max(Bytes::Zero(), hbm - hardware.l2_capacity);
  }
  floor = Max(floor, hbm / hardware.hbm);

  const Fabric& fabric = hardware.view.fabric;
  if (const auto* shape = std::get_if<CollectiveShape>(&op.shape)) {
    floor = Max(floor, CollectiveFloor(op, *shape, fabric));
  }
  if (const auto* shape = std::get_if<ExchangeShape>(&op.shape)) {
    floor = Max(floor, ExchangeFloor(op, *shape, fabric));
  }
  return floor;
}

}  // namespace mansard::model
