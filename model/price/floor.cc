#include <algorithm>

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
  if (op.kind == OpKind::kSendReceive) return op.work.message;
  return op.work.message * (static_cast<double>(CollectiveRounds(op)) *
                            (shape.ranks - 1) / shape.ranks);
}

namespace {

// Least bytes that one rank sends, whatever the algorithm: a reduction in the
// switch takes each rank's buffer once and returns one n-th to be multicast
// ((n + 1) / n); else 2 (n - 1) / n.
Bytes LeastWireBytes(const Op& op, const CollectiveShape& shape,
                     const Link& link) {
  const Bytes ring = RingWireBytes(op, shape);
  if (op.kind != OpKind::kAllReduce || !link.in_network_reduction) return ring;
  return Min(ring, op.work.message * ((shape.ranks + 1.0) / shape.ranks));
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
  floor = Max(floor, hbm / hardware.hbm);

  if (const auto* shape = std::get_if<CollectiveShape>(&op.shape)) {
    const Link& link = *hardware.view.fabric.FindLink(shape->tier);
    floor = Max(floor, LeastWireBytes(op, *shape, link) /
                           link.BandwidthAmong(shape->ranks));
  }
  if (const auto* shape = std::get_if<ExchangeShape>(&op.shape)) {
    const Link& link = *hardware.view.fabric.FindLink(shape->tier);
    floor = Max(floor, op.work.message / link.BandwidthAmong(shape->ranks));
  }
  return floor;
}

}  // namespace mansard::model
