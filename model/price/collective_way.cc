#include "model/price/collective_way.h"

#include <optional>

#include "model/base/p_norm.h"

namespace mansard::model {
namespace {

using Algorithm = CollectiveAlgorithm;
using Line = CollectiveFamily::Line;
using Protocol = CollectiveFamily::Protocol;

void Consider(const Way& way, Way& best) {
  if (best.facts == nullptr || way.total() < best.total()) best = way;
}

const ByTier<CollectiveFamily>& FineTable(Collective kind,
                                          const FineFamilies& fine) {
  switch (kind) {
    case Collective::kAllReduce:
      return fine.all_reduce;
    case Collective::kAllGather:
      return fine.all_gather;
    case Collective::kReduceScatter:
      return fine.reduce_scatter;
    case Collective::kAllToAll:
      return fine.all_to_all;
    case Collective::kBroadcast:
      return fine.broadcast;
    case Collective::kSendReceive:
      return fine.send_receive;
  }
  return fine.all_reduce;
}

// Whose lines a collective without its own takes.
Collective Lender(Collective kind, Algorithm algorithm) {
  if (kind != Collective::kBroadcast) return kind;
  return algorithm == Algorithm::kTree || algorithm == Algorithm::kInSwitch
             ? Collective::kAllReduce
             : Collective::kAllGather;
}

struct Lines {
  const CollectiveFamily* family = nullptr;  // Null: none on the tier.
  bool borrowed = false;
};

Lines LinesFor(Collective kind, LinkTier tier, Algorithm algorithm,
               const KernelStackSpec& stack) {
  const size_t key = static_cast<size_t>(tier);
  if (const CollectiveFamily* own = FineTable(kind, stack.fine).For(key)) {
    return {own, false};
  }
  const Collective lender = Lender(kind, algorithm);
  const bool borrowed = lender != kind;
  if (const CollectiveFamily* fine = FineTable(lender, stack.fine).For(key)) {
    return {fine, borrowed};
  }
  return {stack.collectives[key] ? &*stack.collectives[key] : nullptr,
          borrowed};
}

// Ranks on one tier with what times them.
struct Tiered {
  const CollectiveFamily* lines = nullptr;
  bool borrowed = false;
  Algorithm algorithm = Algorithm::kAuto;
  const Link* link = nullptr;
  double links_used = 1;
  double uncrowded = 1;

  bool Has(const Line& line, const CollectiveProblem& problem) const {
    if (!ProtocolServes(line.protocol, problem.kind)) return false;
    if (borrowed && algorithm == Algorithm::kAuto && !OnRing(line.protocol)) {
      return false;
    }
    return line.protocol != Protocol::kInSwitch ||
           (link->in_network_reduction &&
            problem.ranks >= lines->in_switch_ranks);
  }
  CollectiveTime Time(const Line& line,
                      const CollectiveProblem& problem) const {
    return TimeLine(*lines, line, problem, links_used * uncrowded);
  }
};

// The lines are of the whole domain; on a mesh, few ranks use few links.
Tiered TierOf(Collective kind, LinkTier tier, int ranks, int rivals,
              Algorithm algorithm, const HardwareView& view) {
  Tiered tiered;
  const Lines lines = LinesFor(kind, tier, algorithm, view.stack.spec());
  tiered.lines = lines.family;
  tiered.borrowed = lines.borrowed;
  tiered.algorithm = algorithm;
  tiered.link = view.fabric.FindLink(tier);
  tiered.links_used =
      tiered.link->BandwidthAmong(ranks) / tiered.link->bandwidth.value;
  if (tiered.lines != nullptr) {
    tiered.uncrowded = Uncrowded(*tiered.lines, rivals);
  }
  return tiered;
}

// One message to each peer.
bool IsDirect(Collective kind) {
  return kind == Collective::kAllToAll || kind == Collective::kSendReceive;
}

bool OnOneTier(Algorithm algorithm, Collective kind, Protocol protocol) {
  switch (algorithm) {
    case Algorithm::kAuto:
      return true;
    case Algorithm::kRing:
      return OnRing(protocol) && !IsDirect(kind);
    case Algorithm::kDirect:
      return IsDirect(kind);
    case Algorithm::kTree:
      return protocol == Protocol::kTree;
    case Algorithm::kInSwitch:
      return protocol == Protocol::kInSwitch;
    case Algorithm::kOneShot:
    case Algorithm::kTwoShot:
    case Algorithm::kHierarchical:
    case Algorithm::kLowLatency:
    case Algorithm::kThroughput:
      return false;
  }
  return false;
}

// What a line on one tier is.
Algorithm AlgorithmOf(Collective kind, Protocol protocol) {
  if (IsDirect(kind)) return Algorithm::kDirect;
  if (protocol == Protocol::kTree) return Algorithm::kTree;
  return protocol == Protocol::kInSwitch ? Algorithm::kInSwitch
                                         : Algorithm::kRing;
}

void ConsiderDirect(const CollectiveProblem& problem, LinkTier tier,
                    Algorithm algorithm, double links_used,
                    const KernelStackSpec& stack, Way& best) {
  const DirectAllReduceFamily* family =
      stack.fine.direct_all_reduce.For(static_cast<size_t>(tier));
  if (family == nullptr || problem.kind != Collective::kAllReduce) return;
  const auto consider = [&](Algorithm shots,
                            const std::optional<CollectiveTime>& time) {
    if (!time.has_value()) return;
    Consider({time->fixed,
              time->moving,
              {},
              time->wire,
              {},
              &family->facts,
              {.algorithm = shots, .inside = {}, .between = {}}},
             best);
  };
  const bool any = algorithm == Algorithm::kAuto;
  if (any || algorithm == Algorithm::kOneShot) {
    consider(Algorithm::kOneShot,
             TimeOneShot(*family, problem.ranks, problem.buffer, links_used));
  }
  if (any || algorithm == Algorithm::kTwoShot) {
    consider(Algorithm::kTwoShot,
             TimeTwoShot(*family, problem.ranks, problem.buffer, links_used));
  }
}

Way BestOnOneTier(const CollectiveProblem& problem, LinkTier tier,
                  Algorithm algorithm, const HardwareView& view) {
  Way best;
  // Beyond nodes without their number, every rank has one of its own.
  const int rivals = tier == LinkTier::kRdma ? 1 : problem.ranks - 1;
  const Tiered tiered =
      TierOf(problem.kind, tier, problem.ranks, rivals, algorithm, view);
  // A library that has a kernel of its own for the buffer takes it.
  ConsiderDirect(problem, tier, algorithm, tiered.links_used, view.stack.spec(),
                 best);
  if (best.facts != nullptr) return best;
  for (const Line& line : tiered.lines->lines) {
    if (!OnOneTier(algorithm, problem.kind, line.protocol)) continue;
    if (!tiered.Has(line, problem)) continue;
    const CollectiveTime time = tiered.Time(line, problem);
    Consider({time.fixed,
              time.moving,
              {},
              time.wire,
              {},
              &tiered.lines->facts,
              {AlgorithmOf(problem.kind, line.protocol), line.protocol, {}},
              tiered.borrowed},
             best);
  }
  return best;
}

// Ranks of several nodes.
struct Cluster {
  CollectiveProblem problem;
  int nodes = 2;
  Tiered inside = {};  // Without lines where a node has one rank.
  Tiered between = {};

  int node_ranks() const { return problem.ranks / nodes; }
};

// Reduce-scatter inside the nodes, the collective between them on each rank's
// part, gather inside; NCCL runs the stages as a pipeline, so that each tier's
// bytes move at once and only what is fixed adds up. All-to-alls send each peer
// its bytes, on the tier that leads there.
Way Hierarchical(const Cluster& cluster, const Line* inside,
                 const Line& between) {
  const CollectiveProblem& all = cluster.problem;
  const double ranks = all.ranks;
  const int node_ranks = cluster.node_ranks();
  CollectiveProblem outer = {all.kind, cluster.nodes, all.buffer / node_ranks};
  if (all.kind == Collective::kSendReceive) outer.buffer = all.buffer;
  CollectiveTime out = cluster.between.Time(between, outer);
  if (all.kind == Collective::kAllToAll) {
    // A node's ranks are that many peers, with their part of the buffer each.
    out.moving *= node_ranks;
    out.wire *= node_ranks;
    out.fixed += (ranks - node_ranks - (cluster.nodes - 1)) * between.step;
  }
  Way way{out.fixed,
          {},
          out.moving,
          {},
          out.wire,
          &cluster.between.lines->facts,
          {IsDirect(all.kind)  ? Algorithm::kDirect
           : inside == nullptr ? AlgorithmOf(all.kind, between.protocol)
                               : Algorithm::kHierarchical,
           {},
           between.protocol},
          cluster.between.borrowed};
  if (inside == nullptr) return way;
  way.how.inside = inside->protocol;
  CollectiveProblem inner = {all.kind, node_ranks, all.buffer};
  if (all.kind == Collective::kAllToAll) inner.buffer *= node_ranks / ranks;
  const CollectiveTime in = cluster.inside.Time(*inside, inner);
  way.fixed += in.fixed;
  way.link = in.moving;
  way.link_bytes = in.wire;
  return way;
}

// One ring through all ranks, as many times as a node has ways out: every rank
// passes on all of its share, each way out 1 / node_ranks of that.
Way FlatRing(const Cluster& cluster, const Line& inside, const Line& between) {
  const CollectiveProblem& all = cluster.problem;
  const double share = ProtocolWireShare(inside.protocol, all.kind, all.ranks);
  const double rounds = CollectiveRounds(all.kind);
  const double inner_steps = rounds * (all.ranks - cluster.nodes);
  // Of so many ranks on one tier: for alpha, bus and what crowds them.
  CollectiveTime in =
      cluster.inside.Time(inside, {all.kind, cluster.node_ranks(), all.buffer});
  CollectiveTime out = cluster.between.Time(
      between, {all.kind, cluster.nodes, all.buffer / cluster.node_ranks()});
  const Bytes in_wire = all.buffer * share;
  const Bytes out_wire = in_wire / cluster.node_ranks();
  return {inside.alpha + inner_steps * inside.step + out.fixed,
          in.moving * (in_wire / in.wire),
          out.moving * (out_wire / out.wire),
          in_wire,
          out_wire,
          &cluster.between.lines->facts,
          {Algorithm::kRing, inside.protocol, between.protocol},
          cluster.between.borrowed};
}

// Trees run between the nodes, whatever is inside; switches add inside.
bool AcrossNodes(Algorithm algorithm, Collective kind, const Line* inside,
                 const Line& between) {
  switch (algorithm) {
    case Algorithm::kAuto:
      return true;
    case Algorithm::kHierarchical:
      return inside != nullptr && !IsDirect(kind);
    case Algorithm::kDirect:
      return IsDirect(kind);
    case Algorithm::kTree:
      return between.protocol == Protocol::kTree;
    case Algorithm::kInSwitch:
      return inside != nullptr && inside->protocol == Protocol::kInSwitch;
    case Algorithm::kRing:
      return inside == nullptr && OnRing(between.protocol) && !IsDirect(kind);
    case Algorithm::kOneShot:
    case Algorithm::kTwoShot:
    case Algorithm::kLowLatency:
    case Algorithm::kThroughput:
      return false;
  }
  return false;
}

void ConsiderPair(const Cluster& cluster, Algorithm algorithm,
                  const Line* inside, const Line& between, Way& best) {
  const Collective kind = cluster.problem.kind;
  if (AcrossNodes(algorithm, kind, inside, between)) {
    Way way = Hierarchical(cluster, inside, between);
    // By the name that it was asked for.
    if (algorithm != Algorithm::kAuto) way.how.algorithm = algorithm;
    Consider(way, best);
  }
  if (algorithm == Algorithm::kRing && inside != nullptr && !IsDirect(kind) &&
      OnRing(inside->protocol) && OnRing(between.protocol)) {
    Consider(FlatRing(cluster, *inside, between), best);
  }
}

Cluster ClusterOf(const CollectiveProblem& problem, LinkTier tier, int nodes,
                  Algorithm algorithm, const HardwareView& view) {
  Cluster cluster{.problem = problem, .nodes = nodes};
  const int node_ranks = cluster.node_ranks();
  const bool alone =
      node_ranks == 1 || problem.kind == Collective::kSendReceive;
  cluster.between = TierOf(problem.kind, tier, nodes, alone ? 1 : node_ranks,
                           algorithm, view);
  const Link* link = view.fabric.LinkFor(node_ranks);
  if (!alone && link != nullptr) {
    cluster.inside = TierOf(problem.kind, link->tier, node_ranks,
                            node_ranks - 1, algorithm, view);
  }
  return cluster;
}

Way BestAcrossNodes(const Cluster& cluster, Algorithm algorithm) {
  Way best;
  const CollectiveProblem& all = cluster.problem;
  const int node_ranks = cluster.node_ranks();
  for (const Line& between : cluster.between.lines->lines) {
    if (!cluster.between.Has(between, {all.kind, cluster.nodes, all.buffer})) {
      continue;
    }
    if (cluster.inside.lines == nullptr) {
      ConsiderPair(cluster, algorithm, nullptr, between, best);
      continue;
    }
    for (const Line& inside : cluster.inside.lines->lines) {
      if (!cluster.inside.Has(inside, {all.kind, node_ranks, all.buffer})) {
        continue;
      }
      ConsiderPair(cluster, algorithm, &inside, between, best);
    }
  }
  return best;
}

}  // namespace

Seconds Way::total() const {
  if (network == Seconds::Zero()) return fixed + link;
  return fixed + network * FourthRoot(1 + FourthPower(link / network));
}

Collective CollectiveOf(OpKind kind) {
  if (kind == OpKind::kAllGather) return Collective::kAllGather;
  if (kind == OpKind::kReduceScatter) return Collective::kReduceScatter;
  if (kind == OpKind::kAllToAll) return Collective::kAllToAll;
  if (kind == OpKind::kBroadcast) return Collective::kBroadcast;
  if (kind == OpKind::kSendReceive) return Collective::kSendReceive;
  return Collective::kAllReduce;
}

Way BestWay(const CollectiveProblem& problem, LinkTier tier, int nodes,
            CollectiveAlgorithm algorithm, const HardwareView& view) {
  return nodes == 1
             ? BestOnOneTier(problem, tier, algorithm, view)
             : BestAcrossNodes(ClusterOf(problem, tier, nodes, algorithm, view),
                               algorithm);
}

}  // namespace mansard::model
