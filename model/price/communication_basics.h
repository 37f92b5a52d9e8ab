// What collectives and exchanges of experts' tokens have in common. Internal to
// model/price.
#pragma once

#include "model/price/part_basics.h"

namespace mansard::model {

// Where ranks of a node talk to each other; of ranks on one tier, that.
inline Resource InnerResource(LinkTier tier, int ranks, int nodes,
                              const HardwareView& view) {
  if (nodes == 1) return ResourceOf(tier);
  const Link* link = view.fabric.LinkFor(ranks / nodes);
  return link != nullptr ? ResourceOf(link->tier) : Resource::kNvlink;
}

inline Parts BeginCommunication(const Op& op, const FamilyFacts& facts,
                                const ResolvedHardware& hardware) {
  return Begin(op, facts, hardware,
               hardware.view.stack.spec().elementwise.hbm_fraction,
               !StaysInL2(op, hardware.l2_capacity));
}

}  // namespace mansard::model
