// Times worked out by hand on a machine with round numbers, a slow walk over
// every tile, and what must hold for any shape.

#include "model/kernels/tiled_prefill.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

// 100 multiprocessors of 1e13 FLOP/s, memory at 1e12 B/s.
PrefillMachine Machine() {
  return {100, TeraflopsPerSecond(1000), GigabytesPerSecond(1000)};
}

// Everything costs nothing but what a test sets.
TiledPrefillFamily Free() {
  TiledPrefillFamily family;
  family.peak_fractions = {{64, .5}, {128, 1}};
  family.solo = 0;
  family.window_blocks = 0;
  family.hbm_fraction = 1;
  family.append_passes = 1;
  family.append_elements = 512;
  family.droop = 0;
  family.droop_time = Seconds::Of(1);
  family.packs_heads = 0;
  family.splits_positions = 0;
  family.head_tiles = {{128, 128, 128, 128}};
  return family;
}

TiledPrefillFamily Typical() {
  TiledPrefillFamily family = Free();
  family.launch = Microseconds(9);
  family.start = Microseconds(1);
  family.peak_fractions = {{64, .53}, {128, .76}, {256, .84}};
  family.solo = .29;
  family.window_blocks = .3;
  family.hbm_fraction = .6;
  family.append_passes = 1.2;
  family.append_token = Microseconds(1e-3);
  family.droop = .1;
  family.droop_time = Microseconds(8000);
  family.packs_heads = 1;
  family.splits_positions = 1;
  family.head_tiles = {{64, 192, 128, 128},
                       {128, 128, 128, 128},
                       {128, 64, 128, 128},
                       {256, 128, 80, 64}};
  return family;
}

double Us(Seconds time) { return ToMicroseconds(time); }

// 2 (128 + 128) 128 128 / 1e13 s.
constexpr double kBlockUs = .8388608;

TEST(TiledPrefill, WavesOfTilesAreWhole) {
  // 1024 causal tokens are 8 tiles of 1 to 8 blocks, 4.5 on average. 13 heads
  // are 104 tiles: two waves. 12 are one, of the longest tile.
  PrefillProblem problem{.new_tokens = 1024, .query_heads = 13, .kv_heads = 13};
  EXPECT_NEAR(Us(TimeTiledPrefill(Free(), Machine(), problem).time),
              2 * 4.5 * kBlockUs, 1e-9);
  problem.query_heads = problem.kv_heads = 12;
  const TiledPrefillTimes times = TimeTiledPrefill(Free(), Machine(), problem);
  EXPECT_NEAR(Us(times.time), 8 * kBlockUs, 1e-9);
  EXPECT_EQ(times.tensor, Seconds::Zero());
  EXPECT_EQ(times.chain, times.time);
}

TEST(TiledPrefill, FixedCostsAddUp) {
  TiledPrefillFamily family = Free();
  family.launch = Microseconds(3);
  family.start = Microseconds(2);
  family.solo = .5;
  family.append_token = Microseconds(.01);
  family.append_passes = 2;
  family.hbm_fraction = .5;
  const PrefillProblem problem{.new_tokens = 1024,
                               .query_heads = 13,
                               .kv_heads = 13,
                               .moved = Bytes::Of(5e6),
                               .appended = Bytes::Of(1e6),
                               .appended_tokens = 1024,
                               .appended_elements = 256};
  const TiledPrefillTimes times = TimeTiledPrefill(family, Machine(), problem);
  EXPECT_NEAR(Us(times.launch), 3, 1e-9);
  EXPECT_NEAR(Us(times.starts), 4, 1e-9);
  EXPECT_NEAR(Us(times.tail), .5 * (2 + 8 * kBlockUs), 1e-9);
  // (5 + 2 * 1) MB at half of 1 TB/s; half a token's cost: 256 of 512 elements.
  EXPECT_NEAR(Us(times.hbm), 14, 1e-9);
  EXPECT_NEAR(Us(times.append), 5.12, 1e-9);
  EXPECT_NEAR(Us(times.time),
              3 + 4 + 9 * kBlockUs + .5 * (2 + 8 * kBlockUs) + 14 + 5.12, 1e-9);
}

TEST(TiledPrefill, LongKernelsDroop) {
  TiledPrefillFamily family = Free();
  family.droop = .2;
  family.droop_time = Microseconds(9 * kBlockUs);
  const PrefillProblem problem{
      .new_tokens = 1024, .query_heads = 13, .kv_heads = 13};
  // As long as droop_time: half of the droop.
  EXPECT_NEAR(Us(TimeTiledPrefill(family, Machine(), problem).time),
              1.1 * 9 * kBlockUs, 1e-9);
}

TEST(TiledPrefill, HeadsThatShareATileReadOnce) {
  // One token of 64 heads: 64 tiles in one wave, or one tile of 64 rows. Either
  // walks the 32 blocks of its positions; 128 requests tell them apart.
  TiledPrefillFamily family = Free();
  const PrefillProblem problem{.sequences = 128,
                               .new_tokens = 1,
                               .prior_tokens = 4095,
                               .query_heads = 64};
  EXPECT_NEAR(Us(TimeTiledPrefill(family, Machine(), problem).time),
              82 * 32 * kBlockUs, 1e-6);
  family.packs_heads = 1;
  const TiledPrefillTimes packed = TimeTiledPrefill(family, Machine(), problem);
  EXPECT_TRUE(packed.packed);
  EXPECT_NEAR(Us(packed.time), 2 * 32 * kBlockUs, 1e-6);
}

TEST(TiledPrefill, IdleMultiprocessorsShareALongTile) {
  TiledPrefillFamily family = Free();
  family.splits_positions = 1;
  PrefillProblem problem{.new_tokens = 128, .prior_tokens = 12800 - 128};
  problem.query_heads = problem.kv_heads = 20;
  // 20 tiles of 100 blocks: five multiprocessors each.
  EXPECT_NEAR(Us(TimeTiledPrefill(family, Machine(), problem).time),
              20 * kBlockUs, 1e-9);
  // No part of less than four blocks.
  problem.query_heads = problem.kv_heads = 1;
  EXPECT_NEAR(Us(TimeTiledPrefill(family, Machine(), problem).time),
              4 * kBlockUs, 1e-9);
}

TEST(TiledPrefill, EachHeadSizeHasItsTilesAndRate) {
  const PrefillProblem problem{.new_tokens = 1000,
                               .query_heads = 64,
                               .kv_heads = 64,
                               .key_size = 64,
                               .value_size = 64};
  TiledPrefillFamily family = Typical();
  EXPECT_EQ(TimeTiledPrefill(family, Machine(), problem).tile.rows, 192);
  PrefillProblem wide = problem;
  wide.key_size = wide.value_size = 512;  // Beyond the last: the last.
  EXPECT_EQ(TimeTiledPrefill(family, Machine(), wide).tile.columns, 80);
  // Of two tiles of a head size the faster: 64 rows hold 64 tokens.
  PrefillProblem few = problem;
  few.new_tokens = 64;
  few.sequences = 1000;
  few.key_size = few.value_size = 128;
  EXPECT_EQ(TimeTiledPrefill(family, Machine(), few).tile.rows, 64);
}

// A chunked mask is so many sequences of their own, but for its balance.
TEST(TiledPrefill, ChunksAreSequences) {
  const PrefillProblem chunked{.new_tokens = 8192,
                               .prior_tokens = 1024,
                               .query_heads = 100,
                               .kv_heads = 100,
                               .chunk = 2048};
  // 1024 tokens that end a chunk, three whole ones, 1024 that begin one: blocks
  // 9 to 16, thrice 1 to 16, 1 to 8.
  const double blocks = (9 + 16) * 4 + 3 * 17 * 8 + 9 * 4;
  EXPECT_NEAR(Us(TimeTiledPrefill(Free(), Machine(), chunked).time),
              blocks * kBlockUs, 1e-6);
}

// Tile by tile, with rows as the packed tiles cut them.
TileCount Walk(int64_t q, int64_t prior, int64_t window, int64_t group,
               int64_t rows, int64_t columns) {
  TileCount count;
  const double g = static_cast<double>(group);
  for (int64_t row = 0; row < q * group; row += rows) {
    const bool last = row + rows >= q * group;
    const double end =
        static_cast<double>(prior) +
        (last ? static_cast<double>(q) : static_cast<double>(row + rows) / g);
    double seen = std::ceil(end / static_cast<double>(columns) - 1e-9);
    if (window > 0) {
      const double span =
          (static_cast<double>(rows) + static_cast<double>(window - 1) * g) / g;
      seen =
          std::min(seen, std::ceil(span / static_cast<double>(columns) - 1e-9));
    }
    count.tiles += 1;
    count.blocks += seen;
    count.longest = std::max(count.longest, seen);
  }
  return count;
}

TEST(CountTiles, ClosedFormIsTheWalk) {
  int compared = 0;
  for (const int64_t q : {1, 63, 128, 129, 1000, 4097}) {
    for (const int64_t prior : {0, 1, 127, 128, 5000}) {
      for (const int64_t window : {0, 1, 128, 129, 1000, 100000}) {
        for (const int64_t group : {1, 3, 8, 12}) {
          for (const auto& [rows, columns] :
               {std::pair{128, 128}, {192, 128}, {128, 80}, {64, 112}}) {
            const TileCount fast =
                CountTiles(q, prior, window, true, group, rows, columns);
            const TileCount slow = Walk(q, prior, window, group, rows, columns);
            ASSERT_EQ(fast.tiles, slow.tiles);
            ASSERT_EQ(fast.blocks, slow.blocks)
                << q << " " << prior << " " << window << " " << group << " "
                << rows << "x" << columns;
            ASSERT_EQ(fast.longest, slow.longest);
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 6 * 5 * 6 * 4 * 4);
}

TEST(CountTiles, WithoutAMaskEveryTileSeesAll) {
  const TileCount count = CountTiles(1000, 24, 0, false, 1, 128, 100);
  EXPECT_EQ(count.tiles, 8);
  EXPECT_EQ(count.longest, 11);
  EXPECT_EQ(count.blocks, 88);
}

// 10 million tokens: (n + 1) n / 2 blocks of 78125 tiles.
TEST(CountTiles, LongPromptsAreExact) {
  EXPECT_EQ(CountTiles(10'000'000, 0, 0, true, 1, 128, 128).blocks,
            78126.0 * 78125 / 2);
}

// Every answer is at least as long as its work at the machine's peaks.
TEST(TiledPrefill, NoTimeIsBelowTheFloor) {
  for (const int64_t q : {1, 100, 1000, 8192}) {
    for (const int64_t prior : {0, 77, 9000}) {
      for (const int64_t window : {0, 128, 4000}) {
        for (const int64_t sequences : {1, 60}) {
          PrefillProblem problem{.sequences = sequences,
                                 .new_tokens = q,
                                 .prior_tokens = prior,
                                 .query_heads = 40,
                                 .kv_heads = 8,
                                 .window = window,
                                 .moved = Bytes::Of(3e8)};
          double pairs = 0;
          for (int64_t i = 1; i <= q; ++i) {
            pairs += static_cast<double>(
                window == 0 ? prior + i : std::min(prior + i, window));
          }
          const double flops =
              2.0 * 256 * 40 * static_cast<double>(sequences) * pairs;
          const Seconds time =
              TimeTiledPrefill(Typical(), Machine(), problem).time;
          EXPECT_GE(time.value(), flops / 1e15);
          EXPECT_GE(time.value(), 3e8 / 1e12);
        }
      }
    }
  }
}

TEST(TiledPrefill, PartsAddUpToTheTime) {
  for (const int64_t q : {16, 512, 5000}) {
    const TiledPrefillTimes t = TimeTiledPrefill(Typical(), Machine(),
                                                 {.sequences = 3,
                                                  .new_tokens = q,
                                                  .prior_tokens = 100,
                                                  .query_heads = 32,
                                                  .kv_heads = 8,
                                                  .moved = Bytes::Of(1e7),
                                                  .appended = Bytes::Of(1e6),
                                                  .appended_tokens = 100,
                                                  .appended_elements = 1024});
    EXPECT_NEAR((t.tensor + t.chain + t.launch + t.starts + t.tail + t.hbm +
                 t.append + t.droop) /
                    t.time,
                1, 1e-12);
  }
}

// More of anything never takes less time, faster hardware never more.
TEST(TiledPrefill, Monotone) {
  const auto time = [](const PrefillProblem& problem,
                       const PrefillMachine& machine) {
    return TimeTiledPrefill(Typical(), machine, problem).time.value();
  };
  for (const int64_t window : {0, 128, 1000}) {
    PrefillProblem problem{.sequences = 3,
                           .new_tokens = 1,
                           .prior_tokens = 2000,
                           .query_heads = 24,
                           .kv_heads = 8,
                           .window = window};
    double previous = 0;
    for (; problem.new_tokens < 3000; ++problem.new_tokens) {
      const double now = time(problem, Machine());
      ASSERT_GE(now, previous * (1 - 1e-12)) << problem.new_tokens;
      previous = now;
    }
    previous = 0;
    for (problem.sequences = 1; problem.sequences < 300; ++problem.sequences) {
      const double now = time(problem, Machine());
      ASSERT_GE(now, previous * (1 - 1e-12)) << problem.sequences;
      previous = now;
    }
    problem.sequences = 3;
    problem.new_tokens = 300;
    previous = 0;
    for (problem.prior_tokens = 0; problem.prior_tokens < 4000;
         problem.prior_tokens += 7) {
      const double now = time(problem, Machine());
      ASSERT_GE(now, previous * (1 - 1e-12)) << problem.prior_tokens;
      previous = now;
    }
    PrefillMachine faster = Machine();
    faster.tensor *= 1.5;
    EXPECT_LT(time(problem, faster), time(problem, Machine()));
    faster = Machine();
    faster.hbm *= 1.5;
    problem.moved = Bytes::Of(1e8);
    EXPECT_LT(time(problem, faster), time(problem, Machine()));
  }
}

}  // namespace
}  // namespace mansard::model
