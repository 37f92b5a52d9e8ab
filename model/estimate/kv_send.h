// Keys and values of prompts on their way to another pool: prefill and decode
// apart (disaggregated), where the time to the first token includes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/violations.h"
#include "model/estimate/pipeline.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_stack.h"
#include "model/ops/op.h"
#include "model/price/price.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// How a pool that computes prompts sends what it caches of them.
struct KvSend {
  LinkTier tier = LinkTier::kRdma;
  // NICs that the ranks of one data rank use together. Empty: one each. Only
  // of rdma.
  std::optional<int> nics = std::nullopt;
  // Each layer as soon as it is computed; else all after the pass.
  bool layer_wise = false;

  bool operator==(const KvSend&) const = default;
};

// Ranks that hold parts of one request: those of a data rank.
int RequestRanks(const Layout& layout);

// Rules: the fabric has the tier; nics are 1 to Parallelism::kMaxDevices, and
// of rdma; a tier that ends with a node has room in it for as many ranks again.
// Violations are at "tier" and "nic_count".
void CheckKvSend(const KvSend& send, const Layout& layout, const Fabric& fabric,
                 Violations& violations);

std::vector<std::string> KvSendAssumptions(const KvSend& send,
                                           const KernelStack& stack);

// What one rank of the stage has to send of the pass: of each prompt, what
// another holder of its prior tokens lacks.
Bytes KvOfPrompts(const PassSetup& setup, const ForwardPass& pass, int stage);

// What is left of sending `layers` equal layers one by one when the last of
// them has been computed, where one takes `transfer` to send and `compute` to
// compute: a pipeline of two stages ends at
//   compute + (layers - 1) max(compute, transfer) + transfer
// which exceeds layers x compute by
//   transfer + (layers - 1) max(0, transfer - compute).
// Never negative. Precondition: layers > 0.
Seconds ExposedBehind(Seconds transfer, Seconds compute, int layers);

struct TimedOp {
  Op op;
  OpTime time;
};

// The op that a pass ends with: that of the stage whose transfer ends last,
// times as far as nothing hides them; busy times and traffic are whole. Layers
// are taken to be equal, and computing them to take the stage's time. Nothing
// where the pass has no prompts, or the model caches nothing.
// Precondition: CheckKvSend found nothing, the stack has a collective family
// for the tier.
std::optional<TimedOp> TimeKvSend(const PassSetup& setup,
                                  const ForwardPass& pass, const KvSend& send);

}  // namespace mansard::model
