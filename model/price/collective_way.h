// How a collective is done: the fastest of the lines and kernels that stack and
// ranks have. Internal to model/price.
#pragma once

#include "model/hardware/kernel_stack.h"
#include "model/kernels/protocol_lines.h"
#include "model/ops/op.h"
#include "model/price/communication_way.h"
#include "model/price/hardware_view.h"

namespace mansard::model {

// One way to do a collective. `network`: of its part between nodes.
struct Way {
  Seconds fixed;
  Seconds link;
  Seconds network;
  Bytes link_bytes;
  Bytes network_bytes;
  const FamilyFacts* facts = nullptr;  // Null: there is none.
  CommunicationWay how = {};
  bool borrowed = false;  // From the lines of another collective.

  // Both tiers work at once, as in price.cc.
  Seconds total() const;
};

// Of a collective's op.
Collective CollectiveOf(OpKind kind);

// `tier`: the outermost that the ranks span. Broadcasts without lines of their
// own run on a gather's rings, as NCCL has no other; where a tree or the switch
// is asked for, on an all-reduce's line of that.
Way BestWay(const CollectiveProblem& problem, LinkTier tier, int nodes,
            CollectiveAlgorithm algorithm, const HardwareView& view);

}  // namespace mansard::model
