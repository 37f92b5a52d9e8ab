#include <algorithm>

#include "model/price/price.h"
#include "model/price/work_on_device.h"

namespace mansard::model {

bool StaysInL2(const Op& op, const Device& device) {
  return op.work.activations() <= device.L2Capacity();
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
  const Device& device = hardware.device;
  Seconds floor = TensorTimeAtPeak(op, device);

  Bytes hbm = op.work.weights + op.work.kv_read + op.work.kv_write;
  if (!StaysInL2(op, device)) {
    hbm += op.work.activations();
  } else if (device.spec().l2.has_value() &&
             device.spec().l2->bandwidth.has_value()) {
    floor =
        Max(floor, op.work.activations() / device.spec().l2->bandwidth->value);
  }
  floor = Max(floor, hbm / device.HbmBandwidth());

  if (const auto* shape = std::get_if<CollectiveShape>(&op.shape)) {
    const Link& link = *hardware.fabric.FindLink(shape->tier);
    floor = Max(floor, LeastWireBytes(op, *shape, link) /
                           link.BandwidthAmong(shape->ranks));
  }
  return floor;
}

}  // namespace mansard::model
