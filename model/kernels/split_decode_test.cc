// Times worked out by hand on a machine with round numbers, and what must hold
// for any shape.

#include "model/kernels/split_decode.h"

#include <cmath>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

// 100 multiprocessors, 1e15 FLOP/s, memory at 1e12 B/s, 50e6 B of L2.
SplitDecodeMachine Machine() {
  return {100, TeraflopsPerSecond(1000), GigabytesPerSecond(1000),
          Bytes::Of(50e6)};
}

// Everything costs nothing but what a test sets.
SplitDecodeFamily Free() {
  SplitDecodeFamily family{};
  family.peak_fraction = 1;
  family.hbm_fraction = 1;
  family.l2_feed = BytesPerSecond::Of(1e30);
  family.part_feed = BytesPerSecond::Of(1e30);
  family.wide_feed = 1;
  family.occupancy = 1;
  family.block_tokens = 128;
  family.head_rows = 64;
  family.alone_launch = 1;
  family.alone_start = 1;
  family.warm_share = .5;
  family.splits = {1};
  return family;
}

SplitDecodeFamily Typical() {
  SplitDecodeFamily family = Free();
  family.launch = Microseconds(6);
  family.start = Microseconds(4);
  family.head_share = .4;
  family.window_start = Microseconds(2);
  family.block_latency = Microseconds(.2);
  family.combine = Microseconds(1.5);
  family.combine_part = Microseconds(.02);
  family.query = Seconds::Of(2e-13);
  family.peak_fraction = .6;
  family.hbm_fraction = .92;
  family.l2_feed = GigabytesPerSecond(5500);
  family.part_feed = GigabytesPerSecond(40);
  family.wide_feed = .8;
  family.occupancy = 1.3;
  family.group_limit = 32;
  family.window_group_limit = 1;
  family.alone_launch = 1.2;
  family.alone_start = .7;
  family.splits = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128};
  return family;
}

// bf16 keys and values of 128, 32 query heads in groups of four.
SplitDecodeProblem Problem(double sequences, double positions) {
  SplitDecodeProblem problem;
  problem.sequences = sequences;
  problem.positions = positions;
  problem.query_heads = 32;
  problem.kv_heads = 8;
  problem.position_bytes = Bytes::Of(512);
  problem.position_flops = Flops::Of(512);
  problem.activations = Bytes::Of(sequences * 32 * 256 * 2);
  return problem;
}

double Us(Seconds time) { return ToMicroseconds(time); }

TEST(SplitDecode, WavesOfPartsAreWhole) {
  // 13 * 8 = 104 parts on 100 multiprocessors: two waves of 3 us and eight
  // blocks of half a microsecond.
  SplitDecodeFamily family = Free();
  family.start = Microseconds(3);
  family.block_latency = Microseconds(.5);
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), Problem(13, 1024)).chain),
              14, 1e-9);
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), Problem(12, 1024)).chain),
              7, 1e-9);
  family.occupancy = 1.04;
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), Problem(13, 1024)).chain),
              7, 1e-9);
  // One position more is one block more.
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), Problem(12, 1025)).chain),
              7.5, 1e-9);
}

TEST(SplitDecode, TakesTheFastestSplit) {
  // Eight parts of eight blocks, 1 us each and one to start: 9 us; in n parts
  // 1 + 8 / n and 2 to combine.
  SplitDecodeFamily family = Free();
  family.start = Microseconds(1);
  family.block_latency = Microseconds(1);
  family.combine = Microseconds(2);
  SplitDecodeMachine machine = Machine();
  machine.hbm = BytesPerSecond::Of(1e30);
  machine.tensor = FlopsPerSecond::Of(1e30);
  EXPECT_NEAR(Us(TimeSplitDecode(family, machine, Problem(1, 1024)).time), 9,
              1e-9);
  family.splits = {1, 2, 4, 8, 16};
  const SplitDecodeTimes times =
      TimeSplitDecode(family, machine, Problem(1, 1024));
  EXPECT_EQ(times.split, 8);
  EXPECT_NEAR(Us(times.time), 4, 1e-9);
  family.combine_part = Microseconds(.3);  // Of four 1.2, of eight 2.4.
  const SplitDecodeTimes fewer =
      TimeSplitDecode(family, machine, Problem(1, 1024));
  EXPECT_EQ(fewer.split, 4);
  EXPECT_NEAR(Us(fewer.time), 6.2, 1e-9);
  // 96 parts already: two waves of two are no gain over one of nine.
  const SplitDecodeTimes full =
      TimeSplitDecode(family, machine, Problem(12, 256));
  EXPECT_EQ(full.split, 1);
  EXPECT_NEAR(Us(full.time), 3, 1e-9);
}

TEST(SplitDecode, PartialResultsPassL2) {
  // 4 heads of 128 fp32 values, written and read, in two parts.
  SplitDecodeFamily family = Free();
  family.block_latency = Microseconds(100);
  family.splits = {1, 2};
  family.l2_feed = GigabytesPerSecond(1);
  SplitDecodeProblem problem = Problem(1, 256);
  problem.query_heads = 4;
  problem.kv_heads = 1;
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), problem).combine_traffic),
              2 * 4 * 128 * 8 * 1e-3, 1e-9);
}

TEST(SplitDecode, CacheIsReadOnceAndRowsArePadded) {
  const SplitDecodeProblem problem = Problem(16, 4096);
  const SplitDecodeTimes times = TimeSplitDecode(Free(), Machine(), problem);
  // 16 * 8 * 4096 * 512 B, and 64 rows for the four heads of a group.
  EXPECT_NEAR(Us(times.hbm), 268.435456, 1e-9);
  EXPECT_NEAR(times.l2_bytes.value(), 268435456 + 262144, 1);
  EXPECT_NEAR(Us(times.tensor), 16.0 * 8 * 64 * 4096 * 512 / 1e9, 1e-9);
}

TEST(SplitDecode, DraftsShareTheRead) {
  SplitDecodeProblem problem = Problem(16, 4096);
  problem.query_rows = 3;
  EXPECT_EQ(TimeSplitDecode(Free(), Machine(), problem).l2_bytes,
            TimeSplitDecode(Free(), Machine(), Problem(16, 4096)).l2_bytes);
  // 17 rows of four heads are 68: two tiles.
  problem.query_rows = 17;
  const SplitDecodeTimes two = TimeSplitDecode(Free(), Machine(), problem);
  EXPECT_NEAR(two.l2_bytes.value(), 2 * 268435456.0 + 262144, 1);
  EXPECT_NEAR(Us(two.hbm), 268.435456, 1e-9);
}

TEST(SplitDecode, GroupsBeyondTheLimitReadForEachHead) {
  SplitDecodeFamily family = Free();
  family.launch = Microseconds(5);
  family.start = Microseconds(2);
  family.alone_launch = 2;
  family.alone_start = 3;
  family.group_limit = 4;
  const SplitDecodeTimes at =
      TimeSplitDecode(family, Machine(), Problem(1, 128));
  EXPECT_NEAR(Us(at.launch), 5, 1e-12);
  EXPECT_NEAR(Us(at.chain), 2, 1e-12);
  family.group_limit = 3;
  const SplitDecodeTimes beyond =
      TimeSplitDecode(family, Machine(), Problem(1, 128));
  EXPECT_NEAR(Us(beyond.launch), 10, 1e-12);
  EXPECT_NEAR(Us(beyond.chain), 6, 1e-12);
  EXPECT_NEAR(beyond.l2_bytes.value(), 32 * 128 * 512 + 16384, 1e-6);
  EXPECT_EQ(beyond.hbm, at.hbm);
  // A KV head for each query head: alone whatever the limit.
  SplitDecodeProblem alone = Problem(1, 128);
  alone.kv_heads = 32;
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), alone).launch), 10, 1e-12);
}

TEST(SplitDecode, WindowsHaveALimitAndAStartOfTheirOwn) {
  SplitDecodeFamily family = Free();
  family.start = Microseconds(2);
  family.window_start = Microseconds(1);
  family.window_group_limit = 1;
  SplitDecodeProblem problem = Problem(1, 128);
  const Bytes shared = TimeSplitDecode(family, Machine(), problem).l2_bytes;
  problem.windowed = true;
  const SplitDecodeTimes whole = TimeSplitDecode(family, Machine(), problem);
  EXPECT_GT(whole.l2_bytes, shared);
  EXPECT_NEAR(Us(whole.chain), 2, 1e-12);
  problem.hides = true;
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), problem).chain), 3, 1e-12);
}

TEST(SplitDecode, LatentHeadsShareTheirVectors) {
  // 128 heads on one latent vector of 576: one tile of 128 rows or two of 64;
  // rows are padded to 64 in both.
  SplitDecodeProblem problem = Problem(4, 1000);
  problem.query_heads = 128;
  problem.kv_heads = 1;
  problem.head_size = 576;
  problem.value_size = 512;
  problem.position_bytes = Bytes::Of(1152);
  problem.position_flops = Flops::Of(2 * 1088);
  problem.activations = Bytes::Zero();
  SplitDecodeFamily family = Free();
  const SplitDecodeTimes two = TimeSplitDecode(family, Machine(), problem);
  EXPECT_NEAR(two.l2_bytes.value(), 2 * 4 * 1000 * 1152, 1e-6);
  EXPECT_NEAR(Us(two.tensor), 4.0 * 128 * 1000 * 2176 / 1e9, 1e-9);
  family.head_rows = 128;
  const SplitDecodeTimes one = TimeSplitDecode(family, Machine(), problem);
  EXPECT_NEAR(one.l2_bytes.value(), 4 * 1000 * 1152, 1e-6);
  EXPECT_EQ(one.tensor, two.tensor);
  problem.query_heads = 65;
  EXPECT_EQ(TimeSplitDecode(family, Machine(), problem).tensor, one.tensor);
}

TEST(SplitDecode, WideHeadsStartAndStreamAsTheySay) {
  SplitDecodeFamily family = Free();
  family.start = Microseconds(10);
  family.head_share = .3;
  SplitDecodeProblem problem = Problem(1, 128);
  problem.head_size = 64;
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), problem).chain), 8.5, 1e-9);
  family.start = Seconds::Zero();
  family.part_feed = GigabytesPerSecond(64);
  family.wide_feed = .5;
  // 128 positions of 512 B at 64 GB/s.
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), problem).chain), 1.024,
              1e-9);
  problem.head_size = 256;
  EXPECT_NEAR(Us(TimeSplitDecode(family, Machine(), problem).chain), 2.048,
              1e-9);
}

TEST(SplitDecode, WarmCachesStayInL2WhereTheyFit) {
  // Half of 50e6 B stays: all of 16e6, half of 37.5e6, none of 50e6.
  SplitDecodeMachine machine = Machine();
  SplitDecodeProblem problem = Problem(1, 1);
  problem.activations = Bytes::Zero();
  problem.other_hbm = Bytes::Of(1e6);
  const auto hbm = [&](double bytes) {
    problem.positions = bytes / (8 * 512);
    return Us(TimeSplitDecode(Free(), machine, problem).hbm);
  };
  EXPECT_NEAR(hbm(16e6), 17, 1e-9);
  machine.warm = true;
  EXPECT_NEAR(hbm(16e6), 1, 1e-9);
  EXPECT_NEAR(hbm(37.5e6), 1 + 18.75, 1e-9);
  EXPECT_NEAR(hbm(50e6), 51, 1e-9);
}

TEST(SplitDecode, TimeIsThePartsTogether) {
  for (const double positions : {1, 200, 5000, 100000}) {
    for (const double sequences : {1, 20, 700}) {
      SplitDecodeProblem problem = Problem(sequences, positions);
      problem.hides = problem.windowed = positions == 200;
      const SplitDecodeTimes t = TimeSplitDecode(Typical(), Machine(), problem);
      double norm = 0;
      for (const Seconds part : {t.tensor, t.l2, t.hbm, t.chain}) {
        norm += std::pow(Us(part), 4);
      }
      EXPECT_NEAR(Us(t.time),
                  std::pow(norm, .25) + Us(t.launch) + Us(t.query) +
                      Us(t.combine) + Us(t.combine_traffic),
                  1e-6);
      EXPECT_EQ(t.split > 1, t.combine > Seconds::Zero());
    }
  }
}

TEST(SplitDecode, LongerAndMoreIsNeverFaster) {
  for (const bool windowed : {false, true}) {
    for (const double heads : {8, 32, 64, 512}) {
      Seconds by_sequences;
      for (double sequences = 1; sequences < 3000; sequences *= 1.7) {
        SplitDecodeProblem problem = Problem(std::floor(sequences), 1);
        problem.query_heads = heads;
        problem.windowed = windowed;
        Seconds before;
        for (double positions = 1; positions < 2e5; positions *= 1.11) {
          problem.positions = std::floor(positions);
          const Seconds now =
              TimeSplitDecode(Typical(), Machine(), problem).time;
          EXPECT_GE(now, before) << sequences << " " << problem.positions;
          before = now;
        }
        problem.positions = 1000;
        const Seconds now = TimeSplitDecode(Typical(), Machine(), problem).time;
        EXPECT_GE(now, by_sequences) << sequences;
        by_sequences = now;
      }
    }
  }
}

TEST(SplitDecode, FasterMemoryIsNeverSlower) {
  for (const double positions : {64, 3000, 70000}) {
    Seconds before = Seconds::Infinity();
    for (double rate = 100; rate < 1e5; rate *= 1.5) {
      SplitDecodeMachine machine = Machine();
      machine.hbm = GigabytesPerSecond(rate);
      const Seconds now =
          TimeSplitDecode(Typical(), machine, Problem(8, positions)).time;
      EXPECT_LE(now, before);
      before = now;
    }
  }
}

}  // namespace
}  // namespace mansard::model
