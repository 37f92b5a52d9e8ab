// "protocol-lines" and "direct-all-reduce": what a collective of n ranks on one
// tier takes, by protocol. B is the buffer as nccl-tests count it: of one rank
// for an all-reduce, the whole for a gather, a scatter or an all-to-all.
//
//   fixed  = alpha + step * steps
//   moving = (wire + own_share B) / (bus rivals^-crowding links_used)
//
//                  steps                        wire bytes of the busiest rank
//   ring           r (n - 1)                    r (n - 1) / n B
//   tree           2 ceil(log2 n)               min(2, n / 2) B
//   in the switch  2                            (n + 1) / n B, no own_share
//   one shot       n - 1                        (n - 1) B, no own_share
//   two shots      n - 1                        2 (n - 1) / n B, no own_share;
//     where the switch adds                      (n + 1) / n B
//   send           1                            B
//   broadcast: ring n - 1, tree ceil(log2 n),    B
//     in the switch 1
//
// rivals: n - 1 inside a node, between nodes the ranks of one. r is 2 for an
// all-reduce, else 1. The ring's row holds for all-to-alls too, which send to
// one peer after the other. The tree is NCCL's double binary tree: every rank
// is a leaf of one half's tree. What the switch adds it returns to one rank in
// n, which has it sent to all. Source: Mansard design, performance model §1.9.
// Valid: 2 ranks and more; fitted on 4 KB to 1 GB and 2 to 8 ranks of a node.
// No time of a small buffer is scaled by a bandwidth: alpha and step are the
// software's.
#pragma once

#include <optional>

#include "model/base/units.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive,
};

// Ranks that each have a place on one tier.
struct CollectiveProblem {
  Collective kind = Collective::kAllReduce;
  int ranks = 2;  // At least.
  Bytes buffer;
};

struct CollectiveTime {
  Seconds fixed;   // Nothing hides it.
  Seconds moving;  // At the links.
  Bytes wire;      // Of the busiest rank, in one direction.

  Seconds total() const { return fixed + moving; }
};

// Times that each rank passes its share on: an all-reduce is a reduce-scatter
// and an all-gather.
int CollectiveRounds(Collective kind);

// Trees and switches serve all-reduces and broadcasts alone.
bool ProtocolServes(CollectiveFamily::Protocol protocol, Collective kind);
bool OnRing(CollectiveFamily::Protocol protocol);

// Precondition of both: ProtocolServes.
double ProtocolSteps(CollectiveFamily::Protocol protocol, Collective kind,
                     int ranks);
// As a share of the buffer.
double ProtocolWireShare(CollectiveFamily::Protocol protocol, Collective kind,
                         int ranks);

// What is left of a line's bus among so many rivals. Precondition: at least 1.
double Uncrowded(const CollectiveFamily& family, int rivals);

// One line of a family. `share`: of the line's bus, what is left of the tier's
// links to so many ranks. Precondition: ProtocolServes.
CollectiveTime TimeLine(const CollectiveFamily& family,
                        const CollectiveFamily::Line& line,
                        const CollectiveProblem& problem, double share);

// All-reduces. Empty where the family does not serve the buffer.
std::optional<CollectiveTime> TimeOneShot(const DirectAllReduceFamily& family,
                                          int ranks, Bytes buffer,
                                          double links_used);
std::optional<CollectiveTime> TimeTwoShot(const DirectAllReduceFamily& family,
                                          int ranks, Bytes buffer,
                                          double links_used);

}  // namespace mansard::model
