// Times worked out by hand on a machine with round numbers, a slow evaluation
// of every tile, and what must hold for any shape.

#include "model/kernels/expert_gemm.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

// 100 multiprocessors of 1e13 FLOP/s, memory at 1e12 B/s.
GemmMachine Machine() {
  return {100, TeraflopsPerSecond(1000), GigabytesPerSecond(1000),
          Bytes::Of(200e3)};
}

// Everything costs nothing but what a test sets.
ExpertGemmFamily Free() {
  ExpertGemmFamily family;
  family.peak_fraction = 1;
  family.hbm_fraction = 1;
  family.l2_feed = BytesPerSecond::Of(1e30);
  family.sm_hbm_feed = BytesPerSecond::Of(1e30);
  family.sm_smem_feed = BytesPerSecond::Of(1e30);
  family.k_block_bytes = 128;
  family.warm_share = 1;
  family.tiles = {{64, 128}};
  return family;
}

ExpertGemmFamily Typical() {
  ExpertGemmFamily family = Free();
  family.launch = Microseconds(12);
  family.sort = Microseconds(5);
  family.wave = Microseconds(.8);
  family.block_latency = Microseconds(.1);
  family.peak_fraction = .7;
  family.hbm_fraction = .88;
  family.l2_feed = GigabytesPerSecond(15000);
  family.sm_hbm_feed = GigabytesPerSecond(12);
  family.sm_smem_feed = GigabytesPerSecond(220);
  family.tiles = {{16, 128}, {32, 128}, {64, 128}, {128, 128}, {256, 128}};
  return family;
}

// `experts` with `rows` rows each, [4096, 2048] bf16 weights.
ExpertGemmProblem Problem(double experts, double rows, bool even = true) {
  ExpertGemmProblem problem;
  problem.rows = experts * rows;
  problem.experts = experts;
  problem.even = even;
  problem.n = 4096;
  problem.k = 2048;
  problem.activations = Bytes::Of(problem.rows * 2 * (problem.n + problem.k));
  return problem;
}

double Us(Seconds time) { return ToMicroseconds(time); }

TEST(ExpertGemm, EachExpertHasTilesOfItsOwn) {
  // 32 columns of tiles for each expert: 10 experts with 64 rows are 320 tiles,
  // 4 waves; with 65 rows 640, 7 waves. A tile is 2 * 64 * 128 * 2048 / 1e13 =
  // 3.355 us.
  ExpertGemmFamily family = Free();
  const double tile = 2.0 * 64 * 128 * 2048 / 1e13 * 1e6;
  const auto tensor = [&](double experts, double rows, bool even) {
    return Us(
        TimeExpertGemm(family, Machine(), Problem(experts, rows, even)).tensor);
  };
  EXPECT_NEAR(tensor(10, 64, true), 4 * tile, 1e-9);
  EXPECT_NEAR(tensor(10, 65, true), 7 * tile, 1e-9);
  // Not even: 640 / 64 + 10 / 2 tiles down, 480 in all.
  EXPECT_NEAR(tensor(10, 64, false), 5 * tile, 1e-9);
  // Single rows: a tile each, either way.
  EXPECT_NEAR(tensor(10, 1, true), 4 * tile, 1e-9);
  EXPECT_NEAR(tensor(10, 1, false), 4 * tile, 1e-9);
}

TEST(ExpertGemm, WeightsOfTheExpertsThatSeeRowsCrossOnce) {
  // 3 x 4096 x 2048 x 2 bytes and 12288 bytes of activations at 1e12 B/s.
  ExpertGemmProblem problem = Problem(3, 1);
  problem.activations = Bytes::Of(12288);
  const double bytes = 3.0 * 4096 * 2048 * 2 + 12288;
  const ExpertGemmTimes times = TimeExpertGemm(Free(), Machine(), problem);
  EXPECT_NEAR(Us(times.hbm), bytes * 1e-6, 1e-9);
  EXPECT_EQ(times.cold_share, 1);
}

TEST(ExpertGemm, FewTilesReachAShareOfMemory) {
  // 32 tiles at 1e9 B/s each.
  ExpertGemmFamily family = Free();
  family.sm_hbm_feed = GigabytesPerSecond(1);
  ExpertGemmProblem problem = Problem(1, 1);
  problem.activations = Bytes::Of(0);
  EXPECT_NEAR(Us(TimeExpertGemm(family, Machine(), problem).hbm),
              4096.0 * 2048 * 2 / 32e9 * 1e6, 1e-6);
}

TEST(ExpertGemm, WarmWeightsComeFromL2) {
  ExpertGemmFamily family = Free();
  family.l2_feed = GigabytesPerSecond(4000);
  family.warm_share = .5;
  ExpertGemmProblem problem = Problem(1, 1);
  problem.activations = Bytes::Of(0);
  const double weights = 4096.0 * 2048 * 2;
  problem.warm = true;
  const auto hbm = [&](double capacity) {
    problem.l2_capacity = Bytes::Of(capacity);
    return Us(TimeExpertGemm(family, Machine(), problem).hbm);
  };
  // Half of L2 holds all of them; half of them; three quarters of their bytes
  // make half hot.
  EXPECT_NEAR(hbm(2 * weights), weights / 4e12 * 1e6, 1e-9);
  EXPECT_NEAR(hbm(weights), weights / 1e12 * 1e6, 1e-9);
  EXPECT_NEAR(hbm(1.5 * weights),
              (weights / 2 / 1e12 + weights / 2 / 4e12) * 1e6, 1e-9);
}

TEST(ExpertGemm, ChainIsOneTilesBlocksTimesTheTilesOneAfterAnother) {
  // 2048 / 64 = 32 blocks; 128 rows and columns of 128 bytes in four stages are
  // 98 KB + 1 KB: two tiles to a multiprocessor, 320 tiles on 200 places.
  ExpertGemmFamily family = Free();
  family.block_latency = Microseconds(.1);
  EXPECT_NEAR(Us(TimeExpertGemm(family, Machine(), Problem(10, 64)).chain),
              32 * .1 * 2, 1e-9);
}

TEST(ExpertGemm, SortingManyRowsCostsMore) {
  ExpertGemmFamily family = Free();
  family.launch = Microseconds(10);
  family.sort = Microseconds(6);
  const auto launch = [&](double experts, double rows) {
    return Us(TimeExpertGemm(family, Machine(), Problem(experts, rows)).launch);
  };
  EXPECT_NEAR(launch(1, kSortedRows), 10 + 3, 1e-9);
  EXPECT_NEAR(launch(64, 9 * kSortedRows / 64), 10 + 5.4, 1e-9);
}

// Every tile by the header's formula, without pruning.
double Slow(const ExpertGemmFamily& family, const ExpertGemmProblem& p) {
  const GemmMachine machine = Machine();
  const double count = machine.multiprocessors;
  double best = INFINITY;
  for (const GemmTile& tile : family.tiles) {
    const double e = family.k_block_bytes / p.input_bytes;
    const double depth = std::ceil(p.k / e) * e;
    const double down =
        p.even ? p.experts * std::ceil(p.rows / p.experts / tile.rows)
               : std::max(p.experts, p.rows / tile.rows + p.experts / 2);
    const double tiles = down * std::ceil(p.n / tile.columns);
    const double waves = std::ceil(tiles / count);
    const double tensor = waves * 2 * tile.rows * tile.columns * depth /
                          (family.peak_fraction * machine.tensor.value()) *
                          count;
    const double smem = waves * std::max({tile.rows, tile.columns, 64}) / 64.0 *
                        (64 + std::min(tile.rows, tile.columns)) * depth *
                        p.input_bytes / family.sm_smem_feed.value();
    const double l2 =
        tiles * (tile.rows * p.input_bytes + tile.columns * p.weight_bytes) *
        depth / family.l2_feed.value();
    const double bytes =
        p.experts * p.n * p.k * p.weight_bytes + p.activations.value();
    const double hbm =
        bytes /
        std::min(family.hbm_fraction * machine.hbm.value(),
                 std::min(p.experts * std::ceil(p.n / tile.columns), count) *
                     family.sm_hbm_feed.value());
    const double resident = std::clamp(
        std::floor(
            machine.smem.value() /
            (4.0 * (tile.rows + tile.columns) * family.k_block_bytes + 1024)),
        1.0, 4.0);
    const double chain = depth / e * family.block_latency.value() *
                         std::ceil(tiles / (count * resident));
    const double core =
        std::pow(std::pow(std::max(tensor, smem), 4) + std::pow(l2, 4) +
                     std::pow(hbm, 4) + std::pow(chain, 4),
                 .25);
    best = std::min(best,
                    family.launch.value() +
                        family.sort.value() * p.rows / (p.rows + kSortedRows) +
                        waves * family.wave.value() + core);
  }
  return best * 1e6;
}

TEST(ExpertGemm, SearchFindsTheFastestTile) {
  const ExpertGemmFamily family = Typical();
  for (const double experts : {1.0, 7.5, 64.0, 250.0}) {
    for (const double rows : {1.0, 3.0, 17.0, 100.0, 3000.0}) {
      for (const bool even : {false, true}) {
        const ExpertGemmProblem problem = Problem(experts, rows, even);
        EXPECT_NEAR(Us(TimeExpertGemm(family, Machine(), problem).time) /
                        Slow(family, problem),
                    1, 1e-9)
            << experts << " experts, " << rows << " rows each, even " << even;
      }
    }
  }
}

TEST(ExpertGemm, MoreWorkNeverTakesLess) {
  const ExpertGemmFamily family = Typical();
  const auto time = [&](const ExpertGemmProblem& problem) {
    return Us(TimeExpertGemm(family, Machine(), problem).time);
  };
  const double counts[] = {1, 2, 4, 9, 20, 50, 130, 400, 1500};
  for (const double experts : {1.0, 8.0, 60.0, 256.0}) {
    double last = 0;
    for (const double rows : counts) {
      const double now = time(Problem(experts, rows));
      EXPECT_GE(now, last) << experts << " experts, " << rows << " rows each";
      last = now;
      ExpertGemmProblem deep = Problem(experts, rows);
      deep.k *= 2;
      deep.activations = Bytes::Of(deep.rows * 2 * (deep.n + deep.k));
      EXPECT_GE(time(deep), now) << "k";
      ExpertGemmProblem heavy = Problem(experts, rows);
      heavy.weight_bytes *= 2;
      EXPECT_GE(time(heavy), now) << "weight bytes";
      // Where one expert's tiles fill the machine, so that more of them do not
      // read memory faster.
      if (experts < 8) continue;
      ExpertGemmProblem wide = Problem(experts, rows);
      wide.n *= 2;
      wide.activations = Bytes::Of(wide.rows * 2 * (wide.n + wide.k));
      EXPECT_GE(time(wide), now) << "n";
      ExpertGemmProblem spread = Problem(experts, rows, false);
      spread.experts = experts / 2;
      EXPECT_LE(time(spread), time(Problem(experts, rows, false)))
          << "the same rows among fewer experts";
    }
  }
}

TEST(ExpertGemm, FasterHardwareNeverTakesLonger) {
  const ExpertGemmFamily family = Typical();
  for (const double rows : {1.0, 30.0, 1000.0}) {
    const ExpertGemmProblem problem = Problem(40, rows);
    const Seconds base = TimeExpertGemm(family, Machine(), problem).time;
    GemmMachine machine = Machine();
    machine.hbm = 2 * machine.hbm;
    EXPECT_LE(TimeExpertGemm(family, machine, problem).time, base) << rows;
    machine = Machine();
    machine.tensor = 2 * machine.tensor;
    EXPECT_LE(TimeExpertGemm(family, machine, problem).time, base) << rows;
  }
}

// Never below bytes at the memory's rate and operations at the tensor rate.
TEST(ExpertGemm, TheFloorHolds) {
  const ExpertGemmFamily family = Typical();
  const GemmMachine machine = Machine();
  for (const double experts : {1.0, 40.0, 200.0}) {
    for (const double rows : {1.0, 64.0, 1111.0, 5000.0}) {
      for (const bool even : {false, true}) {
        const ExpertGemmProblem p = Problem(experts, rows, even);
        const double bytes =
            experts * p.n * p.k * p.weight_bytes + p.activations.value();
        const double floor =
            std::max(bytes / machine.hbm.value(),
                     2 * p.rows * p.n * p.k / machine.tensor.value());
        EXPECT_GE(TimeExpertGemm(family, machine, p).time.value(), floor)
            << experts << " experts, " << rows << " rows each";
      }
    }
  }
}

}  // namespace
}  // namespace mansard::model
