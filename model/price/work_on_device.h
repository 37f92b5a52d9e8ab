// How an op's work meets a device, shared by the floor and the estimate.
#pragma once

#include <optional>

#include "model/hardware/device.h"
#include "model/ops/op.h"

namespace mansard::model {

// The op's activations, in and out, fit into L2 together: they are then charged
// to L2 instead of HBM. Never when the L2's size is not known.
inline bool StaysInL2(const Op& op, Bytes l2_capacity) {
  return op.work.activations().value() <= l2_capacity.value();
}
bool StaysInL2(const Op& op, const Device& device);

// The format whose tensor rate applies; empty for ops without tensor work.
std::optional<Format> TensorFormat(const Op& op);

// Tensor work at the datasheet rate.
Seconds TensorTimeAtPeak(const Op& op, const Device& device);

// What crosses L2 in FlashAttention's order (arXiv 2205.14135): queries and
// outputs once, the keys and values that each tile of queries sees once for the
// tile, in every query head. N positions that all see each other move
// 2 N d + 2 N^2 d / rows elements a head.
// Unfused: its activations, scores included. Precondition: a prefill attention.
Bytes TiledAttentionTraffic(const Op& op);

// Times that each rank passes its share on: an all-reduce is a reduce-scatter
// and an all-gather.
int CollectiveRounds(const Op& op);

// Bytes that one rank sends in a ring: rounds * (n - 1) / n of the buffer. The
// bus bandwidth of nccl-tests is this over the time.
Bytes RingWireBytes(const Op& op, const CollectiveShape& shape);

}  // namespace mansard::model
