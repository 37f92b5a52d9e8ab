// Steps and wire bytes against the algorithms themselves, carried out on a few
// ranks; times against numbers worked out by hand.

#include "model/kernels/protocol_lines.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using Protocol = CollectiveFamily::Protocol;

constexpr int kMostRanks = 9;
constexpr Protocol kRings[] = {Protocol::kLl, Protocol::kLl128,
                               Protocol::kSimple};

// What was sent, as a share of the buffer, and how many messages waited for
// each other.
struct Tally {
  explicit Tally(int ranks) : sent(static_cast<size_t>(ranks)) {}
  void Send(int rank, double share) {
    sent[static_cast<size_t>(rank)] += share;
  }
  double Busiest() const { return *std::max_element(sent.begin(), sent.end()); }

  std::vector<double> sent;
  int steps = 0;
};

// Every rank's sum of a part, as the set of ranks in it.
using Parts = std::vector<std::vector<unsigned>>;

Parts OwnParts(int ranks) {
  Parts parts(static_cast<size_t>(ranks));
  for (size_t r = 0; r < parts.size(); ++r)
    parts[r].assign(parts.size(), 1u << r);
  return parts;
}

// One round of a ring: in step s, rank r hands part (r + first - s) to its
// neighbour, which adds it (or keeps it).
void RingRound(Parts& parts, int first, bool adds, Tally& run) {
  const int n = static_cast<int>(parts.size());
  for (int s = 0; s < n - 1; ++s) {
    const Parts before = parts;
    for (int r = 0; r < n; ++r) {
      const auto part = static_cast<size_t>(((r + first - s) % n + n) % n);
      auto& target = parts[static_cast<size_t>((r + 1) % n)][part];
      const unsigned sent = before[static_cast<size_t>(r)][part];
      target = adds ? (target | sent) : sent;
      run.Send(r, 1.0 / n);
    }
    ++run.steps;
  }
}

TEST(ProtocolLines, RingAllReduceIsTwoRounds) {
  for (int n = 2; n <= kMostRanks; ++n) {
    Parts parts = OwnParts(n);
    Tally run(n);
    RingRound(parts, 0, true, run);
    // Rank r now has the sum of part r + 1.
    RingRound(parts, 1, false, run);
    for (const auto& rank : parts) {
      for (const unsigned sum : rank) EXPECT_EQ(sum, (1u << n) - 1);
    }
    for (const Protocol ring : kRings) {
      EXPECT_NEAR(ProtocolWireShare(ring, Collective::kAllReduce, n),
                  run.Busiest(), 1e-12);
      EXPECT_EQ(ProtocolSteps(ring, Collective::kAllReduce, n), run.steps);
    }
  }
}

TEST(ProtocolLines, RingGatherAndScatterAreOne) {
  for (int n = 2; n <= kMostRanks; ++n) {
    Parts parts = OwnParts(n);
    Tally run(n);
    RingRound(parts, 0, true, run);
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(parts[static_cast<size_t>(r)][static_cast<size_t>((r + 1) % n)],
                (1u << n) - 1);
    }
    for (const Collective kind :
         {Collective::kAllGather, Collective::kReduceScatter}) {
      EXPECT_NEAR(ProtocolWireShare(Protocol::kSimple, kind, n), run.Busiest(),
                  1e-12);
      EXPECT_EQ(ProtocolSteps(Protocol::kSimple, kind, n), run.steps);
    }
  }
}

TEST(ProtocolLines, AllToAllSendsEachPeerItsPart) {
  for (int n = 2; n <= kMostRanks; ++n) {
    Tally run(n);
    for (int shift = 1; shift < n; ++shift) {
      for (int r = 0; r < n; ++r) run.Send(r, 1.0 / n);
      ++run.steps;
    }
    EXPECT_NEAR(ProtocolWireShare(Protocol::kSimple, Collective::kAllToAll, n),
                run.Busiest(), 1e-12);
    EXPECT_EQ(ProtocolSteps(Protocol::kSimple, Collective::kAllToAll, n),
              run.steps);
  }
}

// The parent of a rank in a binary tree whose odd ranks are leaves; -1: root.
int Parent(int rank, int ranks) {
  if (rank == 0) return -1;
  const int bit = rank & -rank;
  const int up = (rank ^ bit) | (bit << 1);
  return up < ranks ? up : rank ^ bit;
}

int Depth(int rank, int ranks) {
  int depth = 0;
  for (; rank != 0; rank = Parent(rank, ranks)) ++depth;
  return depth;
}

TEST(ProtocolLines, TreeIsADoubleBinaryTree) {
  for (int n = 2; n <= 2 * kMostRanks; ++n) {
    Tally run(n);
    // The second tree is the first, mirrored or shifted by one.
    const auto second = [n](int rank) {
      return n % 2 == 0 ? n - 1 - rank : (rank + 1) % n;
    };
    int depth = 0;
    for (int rank = 0; rank < n; ++rank) {
      const int parent = Parent(rank, n);
      depth = std::max(depth, Depth(rank, n));
      if (parent < 0) continue;
      // Half the buffer in each tree: up to the parent, and down again.
      run.Send(rank, 0.5);
      run.Send(parent, 0.5);
      run.Send(second(rank), 0.5);
      run.Send(second(parent), 0.5);
    }
    EXPECT_NEAR(ProtocolWireShare(Protocol::kTree, Collective::kAllReduce, n),
                run.Busiest(), 1e-12)
        << n;
    EXPECT_EQ(ProtocolSteps(Protocol::kTree, Collective::kAllReduce, n),
              2 * depth)
        << n;
  }
}

TEST(ProtocolLines, SwitchTakesEachBufferOnceAndReturnsAPart) {
  for (int n = 2; n <= kMostRanks; ++n) {
    Tally run(n);
    for (int reader = 0; reader < n; ++reader) {
      for (int r = 0; r < n; ++r) run.Send(r, 1.0 / n);  // Added on the way.
      run.Send(reader, 1.0 / n);                         // To all at once.
    }
    EXPECT_NEAR(
        ProtocolWireShare(Protocol::kInSwitch, Collective::kAllReduce, n),
        run.Busiest(), 1e-12);
  }
}

TEST(ProtocolLines, WhoServesWhat) {
  for (const Protocol protocol :
       {Protocol::kLl, Protocol::kLl128, Protocol::kSimple, Protocol::kTree,
        Protocol::kInSwitch}) {
    EXPECT_TRUE(ProtocolServes(protocol, Collective::kAllReduce));
    for (const Collective kind :
         {Collective::kAllGather, Collective::kReduceScatter,
          Collective::kAllToAll, Collective::kSendReceive}) {
      EXPECT_EQ(ProtocolServes(protocol, kind), OnRing(protocol));
    }
  }
}

CollectiveFamily Lines() {
  CollectiveFamily family;
  family.lines = {
      {Microseconds(5), Microseconds(1), GigabytesPerSecond(20), Protocol::kLl},
      {Microseconds(25), Microseconds(0), GigabytesPerSecond(500),
       Protocol::kInSwitch}};
  family.own_share = 0.25;
  family.crowding = 0.5;
  return family;
}

TEST(ProtocolLines, LinesAreTheFormula) {
  const CollectiveFamily family = Lines();
  const CollectiveProblem problem = {Collective::kAllReduce, 8, Bytes::Of(8e6)};
  const CollectiveTime ring = TimeLine(family, family.lines[0], problem, 0.5);
  EXPECT_NEAR(ToMicroseconds(ring.fixed), 5 + 14, 1e-9);
  // (1.75 + 0.25) 8 MB at half of 20 GB/s.
  EXPECT_NEAR(ToMicroseconds(ring.moving), 1600, 1e-9);
  EXPECT_NEAR(ring.wire.value(), 14e6, 1e-6);
  const CollectiveTime added = TimeLine(family, family.lines[1], problem, 1);
  EXPECT_NEAR(ToMicroseconds(added.fixed), 25, 1e-9);
  EXPECT_NEAR(ToMicroseconds(added.moving), 9e6 / 5e11 * 1e6, 1e-9);
  EXPECT_NEAR(Uncrowded(family, 1), 1, 0);
  EXPECT_NEAR(Uncrowded(family, 4), 0.5, 1e-12);
}

TEST(ProtocolLines, DirectAllReducesServeWhatTheyList) {
  DirectAllReduceFamily family;
  family.one_shot_alpha = Microseconds(4);
  family.one_shot_step = Microseconds(0.1);
  family.one_shot_bus = GigabytesPerSecond(250);
  family.two_shot_alpha = Microseconds(7);
  family.two_shot_step = Microseconds(0.2);
  family.two_shot_bus = GigabytesPerSecond(300);
  family.one_shot_limit = {Bytes::Of(8e6), Bytes::Of(5e5), Bytes::Of(2e5)};
  family.two_shot_start = {Bytes(), Bytes(), Bytes::Of(1e5)};
  family.two_shot_limit = {Bytes(), Bytes::Of(8e6), Bytes::Of(8e6)};
  const auto one = TimeOneShot(family, 8, Bytes::Of(2e5), 1);
  ASSERT_TRUE(one.has_value());
  EXPECT_NEAR(ToMicroseconds(one->fixed), 4.7, 1e-9);
  EXPECT_NEAR(ToMicroseconds(one->moving), 7 * 2e5 / 250e9 * 1e6, 1e-9);
  const auto two = TimeTwoShot(family, 8, Bytes::Of(8e6), 1);
  ASSERT_TRUE(two.has_value());
  EXPECT_NEAR(ToMicroseconds(two->fixed), 8.4, 1e-9);
  EXPECT_NEAR(two->wire.value(), 14e6, 1e-6);
  EXPECT_FALSE(TimeOneShot(family, 8, Bytes::Of(2.1e5), 1));
  EXPECT_FALSE(TimeTwoShot(family, 8, Bytes::Of(0.9e5), 1));
  EXPECT_FALSE(TimeTwoShot(family, 2, Bytes::Of(1e5), 1));
  // Three ranks go by the limit of four; nine have none.
  EXPECT_TRUE(TimeOneShot(family, 3, Bytes::Of(5e5), 1));
  EXPECT_FALSE(TimeOneShot(family, 9, Bytes::Of(10), 1));
  // Where the switch adds, each rank sends its buffer once and an eighth of the
  // sum.
  DirectAllReduceFamily adding = family;
  adding.two_shot_in_switch = 1;
  EXPECT_NEAR(TimeTwoShot(adding, 8, Bytes::Of(8e6), 1)->wire.value(), 9e6,
              1e-6);
}

// From one rank to all others: by hand along a chain, a tree and a switch that
// multiplies.
TEST(ProtocolLines, BroadcastsPassOnTheBufferOnce) {
  const struct {
    Protocol protocol;
    int ranks;
    double steps;
  } kCases[] = {{Protocol::kSimple, 2, 1}, {Protocol::kLl, 8, 7},
                {Protocol::kTree, 2, 1},   {Protocol::kTree, 5, 3},
                {Protocol::kTree, 8, 3},   {Protocol::kInSwitch, 8, 1}};
  for (const auto& c : kCases) {
    ASSERT_TRUE(ProtocolServes(c.protocol, Collective::kBroadcast));
    EXPECT_EQ(ProtocolSteps(c.protocol, Collective::kBroadcast, c.ranks),
              c.steps);
    EXPECT_EQ(ProtocolWireShare(c.protocol, Collective::kBroadcast, c.ranks),
              1);
  }
}

}  // namespace
}  // namespace mansard::model
