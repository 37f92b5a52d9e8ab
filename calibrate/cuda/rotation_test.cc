#include "calibrate/cuda/rotation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMega = 1'000'000;

TEST(PlanSets, LieThreeTimesTheCacheApart) {
  const struct {
    int64_t set, cache, free, sets;
  } kCases[] = {
      {10 * kMega, 50 * kMega, 80'000 * kMega, 15},
      {40 * kMega, 50 * kMega, 80'000 * kMega, 4},  // 3.75.
      {1000 * kMega, 50 * kMega, 80'000 * kMega, 2},
      // One has room, and is cold by itself.
      {15'000 * kMega, 50 * kMega, 80'000 * kMega, 1},
      // Beyond what a graph holds.
      {1000, 50 * kMega, 80'000 * kMega, 4096},
  };
  for (const auto& one : kCases) {
    const auto sets = PlanSets(one.set, one.cache, one.free);
    ASSERT_TRUE(sets.ok()) << sets.status();
    EXPECT_EQ(*sets, one.sets) << one.set;
  }
}

TEST(PlanSets, RefusesWhatWouldStayInTheCache) {
  // 15 are needed, 10 have room.
  const auto few = PlanSets(10 * kMega, 50 * kMega, 400 * kMega);
  EXPECT_EQ(few.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(few.status().message()),
              HasSubstr("needs 150 MB of device memory, a quarter of the free "
                        "memory is 100 MB"));
  EXPECT_FALSE(PlanSets(900 * kMega, 50 * kMega, 1000 * kMega).ok());
}

TEST(PlanLaunches, TakeAtLeastTheSampleInWholeRounds) {
  EXPECT_EQ(PlanLaunches(10e-6, 1), 20);   // 200 us.
  EXPECT_EQ(PlanLaunches(10e-6, 15), 30);  // Two rounds.
  EXPECT_EQ(PlanLaunches(1e-3, 4), 4);
  EXPECT_EQ(PlanLaunches(1e-9, 3), 4095);  // What a graph holds.
  EXPECT_EQ(PlanLaunches(0, 4096), 4096);
}

TEST(ClockBetween, IsTheMedianOfThoseThatSpokeTwice) {
  const std::vector<ClockStamp> start = {
      {1000, 50}, {1000, 7000}, {1000, 9}, {0, 0}, {1000, 5}};
  const std::vector<ClockStamp> stop = {
      {2000, 1550}, {3000, 10'200}, {2000, 2009}, {2000, 4}, {0, 0}};
  // 1.5, 1.6 and 2 GHz.
  EXPECT_DOUBLE_EQ(ClockBetween(start, stop), 1.6e9);
  EXPECT_EQ(ClockBetween({{0, 0}}, {{5, 5}}), 0);
  EXPECT_EQ(ClockBetween({}, {}), 0);
}

}  // namespace
}  // namespace mansard::calibrate
