// Collectives and exchanges of experts' tokens as priced: choices between
// algorithms, bytes of each tier, bounds.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "model/price/price.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::ToyHardware;
using Algorithm = CollectiveAlgorithm;
using Protocol = CollectiveFamily::Protocol;

constexpr size_t kNvlink = static_cast<size_t>(LinkTier::kNvlink);
constexpr size_t kRdma = static_cast<size_t>(LinkTier::kRdma);

FamilyFacts Facts(const char* id) {
  FamilyFacts facts;
  facts.id = id;
  facts.sigma = 0.1;
  facts.provenance = {ProvenanceKind::kAssumed, "test", ""};
  return facts;
}

// Nodes of eight at 100 GB/s inside and 10 GB/s out of each rank.
class CollectivePriceTest : public ::testing::Test {
 protected:
  CollectivePriceTest() {
    toy_.fabric.links[0].in_network_reduction = true;
    Link network;
    network.tier = LinkTier::kRdma;
    network.bandwidth = {GigabytesPerSecond(10),
                         {ProvenanceKind::kAssumed, "test", ""}};
    toy_.fabric.links.push_back(network);
    toy_.stack.collectives[kNvlink] =
        CollectiveFamily{Facts("inner"),
                         {{Microseconds(5), Microseconds(1),
                           GigabytesPerSecond(20), Protocol::kLl},
                          {Microseconds(20), Microseconds(1),
                           GigabytesPerSecond(80), Protocol::kSimple},
                          {Microseconds(30), Microseconds(0),
                           GigabytesPerSecond(90), Protocol::kInSwitch}}};
    toy_.stack.collectives[kRdma] =
        CollectiveFamily{Facts("outer"),
                         {{Microseconds(10), Microseconds(4),
                           GigabytesPerSecond(8), Protocol::kSimple},
                          {Microseconds(12), Microseconds(5),
                           GigabytesPerSecond(8), Protocol::kTree}}};
  }

  void AddDirect() {
    DirectAllReduceFamily direct;
    direct.facts = Facts("direct");
    direct.one_shot_alpha = Microseconds(3);
    direct.one_shot_step = Microseconds(0.1);
    direct.one_shot_bus = GigabytesPerSecond(80);
    direct.two_shot_alpha = Microseconds(6);
    direct.two_shot_step = Microseconds(0.2);
    direct.two_shot_bus = GigabytesPerSecond(80);
    direct.one_shot_limit.fill(Bytes::Of(1e6));
    direct.two_shot_limit.fill(Bytes::Of(8e6));
    toy_.stack.fine.direct_all_reduce.Bind(kNvlink, direct);
  }

  OpTime PriceOf(const Op& op) const {
    // Times point into it.
    built_.push_back(toy_.Build());
    const auto& profile = built_.back();
    return Price(
        op, {profile->device(), profile->fabrics()[0], profile->stacks()[0]});
  }
  OpTime Reduce(double bytes, int ranks, int nodes,
                Algorithm algorithm = Algorithm::kAuto) const {
    return PriceOf(
        AllReduceOp(Shape(ranks, nodes, algorithm), Bytes::Of(bytes)));
  }
  static CollectiveShape Shape(int ranks, int nodes,
                               Algorithm algorithm = Algorithm::kAuto) {
    return {ranks, nodes > 1 ? LinkTier::kRdma : LinkTier::kNvlink,
            ranks / nodes, algorithm};
  }

  ToyHardware toy_;

 private:
  mutable std::vector<std::shared_ptr<const HardwareProfile>> built_;
};

TEST_F(CollectivePriceTest, SixteenRanksOfTwoNodesWaitForLatency) {
  // 10 us + 2 steps of 4 us outside, 5 us + 14 us inside; 16 KB move in 2 us.
  const OpTime time = Reduce(16384, 16, 2);
  EXPECT_NEAR(ToMicroseconds(time.attributed[Resource::kSync]), 37, 1e-9);
  EXPECT_LT(ToMicroseconds(time.estimate), 40);
  EXPECT_EQ(time.limiting, Resource::kSync);
  // Ten times the bandwidth changes next to nothing.
  const Seconds before = time.estimate;
  for (auto& line : toy_.stack.collectives[kRdma]->lines) line.bus *= 10;
  for (auto& line : toy_.stack.collectives[kNvlink]->lines) line.bus *= 10;
  EXPECT_GT(Reduce(16384, 16, 2).estimate / before, 0.9);
}

TEST_F(CollectivePriceTest, BothTiersAreInTheWaterfallAndSumsAreExact) {
  for (const double bytes : {1e4, 1e6, 1e9}) {
    const OpTime time = Reduce(bytes, 16, 2);
    EXPECT_GT(time.busy[Resource::kNvlink], Seconds::Zero());
    EXPECT_GT(time.busy[Resource::kRdma], Seconds::Zero());
    Seconds sum;
    for (const Seconds exposed : time.attributed) {
      EXPECT_GE(exposed, Seconds::Zero());
      sum += exposed;
    }
    EXPECT_NEAR(sum / time.estimate, 1, 1e-12);
    EXPECT_LE(time.floor, time.overlapped);
    EXPECT_LE(time.overlapped, time.estimate);
    EXPECT_LE(time.estimate, time.serial);
  }
}

// Bytes of the busiest rank on each tier when the stages are carried out part
// by part: in the node, between the nodes on the rank's part, in the node.
struct TierBytes {
  double inner = 0;
  double outer = 0;
};
TierBytes Staged(int node_ranks, int nodes, double bytes, int inner_rounds,
                 int outer_rounds) {
  TierBytes sent;
  for (int round = 0; round < inner_rounds; ++round) {
    for (int step = 0; step < node_ranks - 1; ++step) {
      sent.inner += bytes / node_ranks;
    }
  }
  for (int round = 0; round < outer_rounds; ++round) {
    for (int step = 0; step < nodes - 1; ++step) {
      sent.outer += bytes / node_ranks / nodes;
    }
  }
  return sent;
}

TEST_F(CollectivePriceTest, TiersMoveWhatTheStagesSend) {
  constexpr double kBytes = 1e9;
  // Rings alone: the switch's bytes are its own.
  toy_.fabric.links[0].in_network_reduction = false;
  for (const int nodes : {2, 3, 4}) {
    for (const int node_ranks : {1, 2, 8}) {
      const CollectiveShape shape = Shape(node_ranks * nodes, nodes);
      const Bytes buffer = Bytes::Of(kBytes);
      const TierBytes reduce = Staged(node_ranks, nodes, kBytes, 2, 2);
      const Traffic reduced = PriceOf(AllReduceOp(shape, buffer)).traffic;
      EXPECT_NEAR(reduced.link.value(), reduce.inner, 1);
      EXPECT_NEAR(reduced.network.value(), reduce.outer, 1);
      const TierBytes gather = Staged(node_ranks, nodes, kBytes, 1, 1);
      for (const Op& op :
           {AllGatherOp(shape, buffer), ReduceScatterOp(shape, buffer)}) {
        const Traffic moved = PriceOf(op).traffic;
        EXPECT_NEAR(moved.link.value(), gather.inner, 1);
        EXPECT_NEAR(moved.network.value(), gather.outer, 1);
      }
      // Every peer gets its part of the buffer.
      const double part = kBytes / shape.ranks;
      const Traffic all = PriceOf(AllToAllOp(shape, buffer)).traffic;
      EXPECT_NEAR(all.link.value(), part * (node_ranks - 1), 1);
      EXPECT_NEAR(all.network.value(), part * (shape.ranks - node_ranks), 1);
    }
  }
}

TEST_F(CollectivePriceTest, FlatRingPassesOnAllSharesOfAllRanks) {
  constexpr double kBytes = 1.6e9;
  const OpTime flat = Reduce(kBytes, 16, 2, Algorithm::kRing);
  EXPECT_FALSE(flat.extrapolated);
  // Two rounds of 15 steps of a sixteenth; of eight ways out, each an eighth.
  EXPECT_NEAR(flat.traffic.link.value(), 2 * 15 * kBytes / 16, 1);
  EXPECT_NEAR(flat.traffic.network.value(), 2 * 15 * kBytes / 16 / 8, 1);
  EXPECT_GE(flat.estimate, Reduce(kBytes, 16, 2).estimate);
}

TEST_F(CollectivePriceTest, AnEnginesOwnKernelTakesWhatItServes) {
  AddDirect();
  // 3 us + 0.7 us, and 70 KB at 80 GB/s.
  const OpTime small = Reduce(1e4, 8, 1);
  EXPECT_NEAR(ToMicroseconds(small.estimate), 3.7 + 7e4 / 80e9 * 1e6, 1e-6);
  EXPECT_EQ(small.family->id, "direct");
  const OpTime middle = Reduce(4e6, 8, 1);
  EXPECT_NEAR(middle.traffic.link.value(), 7e6, 1e-3);
  EXPECT_EQ(middle.family->id, "direct");
  EXPECT_EQ(Reduce(9e6, 8, 1).family->id, "inner");
  EXPECT_EQ(PriceOf(AllGatherOp(Shape(8, 1), Bytes::Of(1e4))).family->id,
            "inner");
}

TEST_F(CollectivePriceTest, TheCallerMayChoose) {
  AddDirect();
  const struct {
    Algorithm algorithm;
    int nodes;
    double sent;  // Inside the node, of a buffer of 0.8 MB.
  } cases[] = {
      {Algorithm::kOneShot, 1, 7 * 8e5},
      {Algorithm::kTwoShot, 1, 1.75 * 8e5},
      {Algorithm::kRing, 1, 1.75 * 8e5},
      {Algorithm::kInSwitch, 1, 9.0 / 8 * 8e5},
      {Algorithm::kHierarchical, 2, 0},
      {Algorithm::kInSwitch, 2, 9.0 / 8 * 8e5},
      {Algorithm::kTree, 2, 0},
  };
  for (const auto& test : cases) {
    const OpTime time = Reduce(8e5, 8 * test.nodes, test.nodes, test.algorithm);
    EXPECT_FALSE(time.extrapolated);
    if (test.sent > 0) {
      EXPECT_NEAR(time.traffic.link.value(), test.sent, 1e-3);
    }
  }
  // The tree: its alpha and two steps for two nodes.
  const OpTime tree = Reduce(1e3, 16, 2, Algorithm::kTree);
  EXPECT_NEAR(ToMicroseconds(tree.attributed[Resource::kSync]), 22 + 19, 1e-9);
}

TEST_F(CollectivePriceTest, WhatThereIsNotIsAsAutoAndSaysSo) {
  const struct {
    Algorithm algorithm;
    int nodes;
  } cases[] = {{Algorithm::kOneShot, 1},
               {Algorithm::kTwoShot, 1},
               {Algorithm::kTree, 1},
               {Algorithm::kHierarchical, 1},
               {Algorithm::kOneShot, 2}};
  for (const auto& test : cases) {
    const OpTime time = Reduce(1e5, 8 * test.nodes, test.nodes, test.algorithm);
    EXPECT_TRUE(time.extrapolated);
    EXPECT_EQ(time.estimate, Reduce(1e5, 8 * test.nodes, test.nodes).estimate);
  }
  // Switches that add for eight do not for four, nor where they add nothing.
  toy_.stack.collectives[kNvlink]->in_switch_ranks = 8;
  EXPECT_FALSE(Reduce(1e8, 8, 1, Algorithm::kInSwitch).extrapolated);
  EXPECT_TRUE(Reduce(1e8, 4, 1, Algorithm::kInSwitch).extrapolated);
  toy_.fabric.links[0].in_network_reduction = false;
  EXPECT_TRUE(Reduce(1e8, 8, 1, Algorithm::kInSwitch).extrapolated);
}

TEST_F(CollectivePriceTest, MoreBytesNeverTakeLess) {
  for (const int nodes : {1, 2, 4}) {
    for (const auto make :
         {&AllReduceOp, &AllGatherOp, &ReduceScatterOp, &AllToAllOp}) {
      Seconds previous;
      for (double bytes = 256; bytes < 4e9; bytes *= 1.7) {
        const Seconds time =
            PriceOf(make(Shape(8 * nodes, nodes), Bytes::Of(bytes))).estimate;
        EXPECT_GE(time, previous) << nodes << " " << bytes;
        previous = time;
      }
    }
  }
}

TEST_F(CollectivePriceTest, MoreRanksNeverTakeLess) {
  for (const double bytes : {1e3, 1e6, 1e9}) {
    Seconds previous;
    for (const int ranks : {2, 3, 4, 6, 8}) {
      const Seconds time = Reduce(bytes, ranks, 1, Algorithm::kRing).estimate;
      EXPECT_GE(time, previous);
      previous = time;
    }
    previous = Seconds();  // Switches beat rings.
    for (const int nodes : {2, 4, 8, 32}) {
      const Seconds time = Reduce(bytes, 8 * nodes, nodes).estimate;
      EXPECT_GE(time, previous) << nodes;
      previous = time;
    }
  }
}

TEST_F(CollectivePriceTest, CrowdedNodesShareTheirWayOut) {
  toy_.stack.collectives[kRdma]->crowding = 1;
  // One NIC's worth: a node's 1e9 bytes at 8 GB/s, however many ranks.
  for (const int node_ranks : {2, 4, 8}) {
    const OpTime time = Reduce(1e9, 2 * node_ranks, 2, Algorithm::kAuto);
    EXPECT_NEAR(ToMilliseconds(time.busy[Resource::kRdma]), 125, 1e-9);
  }
}

TEST_F(CollectivePriceTest, FloorsAreWhatMustCross) {
  constexpr double kBytes = 1e9;
  toy_.fabric.links[0].in_network_reduction = false;
  // Each node's 2 (m - 1) / m of the buffer over eight ways out.
  EXPECT_NEAR(ToMilliseconds(Reduce(kBytes, 32, 4).floor),
              1.5 * kBytes / 8 / 10e9 * 1e3, 1e-9);
  const auto gather = PriceOf(AllGatherOp(Shape(32, 4), Bytes::Of(kBytes)));
  EXPECT_NEAR(ToMilliseconds(gather.floor), 0.75 * kBytes / 8 / 10e9 * 1e3,
              1e-9);
  const auto all = PriceOf(AllToAllOp(Shape(32, 4), Bytes::Of(kBytes)));
  EXPECT_NEAR(ToMilliseconds(all.floor), 0.75 * kBytes / 10e9 * 1e3, 1e-9);
  const auto send = PriceOf(SendReceiveOp(Shape(2, 2), Bytes::Of(kBytes)));
  EXPECT_NEAR(ToMilliseconds(send.floor), kBytes / 10e9 * 1e3, 1e-9);
  // A network as fast as the links: then what leaves a rank either way counts.
  toy_.fabric.links[1].bandwidth.value = GigabytesPerSecond(100);
  EXPECT_NEAR(ToMilliseconds(Reduce(kBytes, 32, 4).floor),
              2 * 31.0 / 32 * kBytes / 200e9 * 1e3, 1e-9);
}

ExchangeShape Tokens(int ranks, int nodes, double tokens) {
  ExchangeShape shape;
  shape.ranks = ranks;
  shape.node_ranks = ranks / nodes;
  shape.tier = nodes > 1 ? LinkTier::kRdma : LinkTier::kNvlink;
  shape.tokens = tokens;
  shape.experts_per_token = 8;
  shape.columns = 4096;
  shape.experts = 256;
  return shape;
}

ExpertExchangeFamily Exchange(const char* id, bool per_rank) {
  ExpertExchangeFamily family;
  family.facts = Facts(id);
  family.alpha = Microseconds(per_rank ? 25 : 10);
  family.network_alpha = Microseconds(5);
  family.network_step = Microseconds(3);
  family.token = Microseconds(0.4);
  family.row = Microseconds(0.1);
  family.sm_feed = GigabytesPerSecond(20);
  family.token_feed = GigabytesPerSecond(50);
  family.bus = GigabytesPerSecond(80);
  family.network = GigabytesPerSecond(9);
  family.crowding = 0;
  family.per_rank = per_rank ? 1 : 0;
  family.multiprocessors = per_rank ? 20 : 0;
  return family;
}

TEST_F(CollectivePriceTest, ExchangesWithoutAFamilyAreAllToAlls) {
  for (const int nodes : {1, 2}) {
    const Op exchange = ExpertDispatchOp(Tokens(8 * nodes, nodes, 512));
    const double ranks = 8 * nodes;
    const OpTime time = PriceOf(exchange);
    const OpTime all =
        PriceOf(AllToAllOp(Shape(8 * nodes, nodes),
                           exchange.work.message * (ranks / (ranks - 1))));
    EXPECT_EQ(time.traffic.link, all.traffic.link);
    EXPECT_EQ(time.traffic.network, all.traffic.network);
    EXPECT_EQ(time.attributed[Resource::kSync],
              all.attributed[Resource::kSync]);
    EXPECT_NEAR(
        (time.traffic.link + time.traffic.network) / exchange.work.message, 1,
        1e-12);
  }
}

TEST_F(CollectivePriceTest, ExchangesTakeTheKernelsAskedForOrTheFaster) {
  toy_.device.multiprocessor_count = Sourced<double>{132, {}};
  auto& fine = toy_.stack.fine;
  fine.expert_dispatch.Bind(kNvlink, Exchange("many", true));
  ExchangeShape few = Tokens(8, 1, 4);
  ExchangeShape many = Tokens(8, 1, 16384);
  EXPECT_EQ(PriceOf(ExpertDispatchOp(few)).family->id, "many");
  fine.expert_dispatch_low_latency.Bind(kNvlink, Exchange("few", false));
  EXPECT_EQ(PriceOf(ExpertDispatchOp(few)).family->id, "few");
  EXPECT_EQ(PriceOf(ExpertDispatchOp(many)).family->id, "many");
  few.kernels = ExchangeKernels::kThroughput;
  many.kernels = ExchangeKernels::kLowLatency;
  EXPECT_EQ(PriceOf(ExpertDispatchOp(few)).family->id, "many");
  EXPECT_EQ(PriceOf(ExpertDispatchOp(many)).family->id, "few");
  EXPECT_EQ(PriceOf(ExpertCombineOp(few)).family->id, "inner");
}

TEST_F(CollectivePriceTest, ExchangesAcrossNodesBusyBothTiersAboveTheFloor) {
  toy_.device.multiprocessor_count = Sourced<double>{132, {}};
  toy_.stack.fine.expert_combine.Bind(kRdma, Exchange("many", true));
  toy_.stack.fine.expert_dispatch.Bind(kRdma, Exchange("many", true));
  for (const double tokens : {1.0, 100.0, 30000.0}) {
    for (const int nodes : {2, 4, 8}) {
      for (const auto make : {&ExpertDispatchOp, &ExpertCombineOp}) {
        const OpTime time = PriceOf(make(Tokens(8 * nodes, nodes, tokens)));
        EXPECT_GT(time.busy[Resource::kNvlink], Seconds::Zero());
        EXPECT_GT(time.busy[Resource::kRdma], Seconds::Zero());
        EXPECT_LE(time.floor, time.overlapped);
        EXPECT_FALSE(time.raised_to_floor);
        // A copy to each other node that has some of the eight experts.
        const double distinct =
            (nodes - 1) * (1 - std::pow(1 - 1.0 / nodes, 8));
        EXPECT_NEAR(time.floor / (Bytes::Of(tokens * distinct * 8192) /
                                  GigabytesPerSecond(10)),
                    1, 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace mansard::model
