// Searches and bounds against every batch, and what targets mean.

#include "model/serving/batch_search.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/serving/decode_batches.h"
#include "model/serving/slo.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildTarget;
using mansard::testing::EnginePointer;
using mansard::testing::FineHardware;
using mansard::testing::ResolveOn;
using mansard::testing::Shipped;
using mansard::testing::ShippedTarget;
using mansard::testing::TargetOn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Mostly rising, with falls anywhere; entry b is of batch b.
std::vector<double> RandomTimes(std::mt19937& random, size_t count) {
  std::vector<double> times = {0};
  double level = 100;
  for (size_t i = 1; i <= count; ++i) {
    level += static_cast<double>(random() % 10);
    if (random() % 7 == 0) level -= static_cast<double>(random() % 60);
    times.push_back(level);
  }
  return times;
}

TEST(BatchSearch, FindsTheFirstThatFailsWhateverTheTimes) {
  std::mt19937 random(3);
  int64_t looks = 0;
  for (int run = 0; run < 2000; ++run) {
    const size_t count = 1 + random() % 300;
    const std::vector<double> times = RandomTimes(random, count);
    const double target = times[1 + random() % count];
    const auto fails = [&](int64_t batch) {
      ++looks;
      return times[static_cast<size_t>(batch)] > target;
    };
    const auto none = [&](int64_t first, int64_t last) {
      return std::none_of(times.begin() + first, times.begin() + last + 1,
                          [&](double time) { return time > target; });
    };
    const auto never = [](int64_t, int64_t) { return false; };
    const auto last = static_cast<int64_t>(count);
    const int64_t expected =
        std::find_if(times.begin() + 1, times.end(),
                     [&](double time) { return time > target; }) -
        times.begin();
    EXPECT_EQ(FirstFailing(1, last, fails, none), expected);
    EXPECT_EQ(FirstFailing(1, last, fails, never), expected);
  }
  EXPECT_EQ(FirstFailing(
                1, 0, [](int64_t) { return true; },
                [](int64_t, int64_t) { return false; }),
            1);
}

TEST(BatchSearch, FindsTheCheapestWhateverTheCosts) {
  std::mt19937 random(4);
  for (int run = 0; run < 2000; ++run) {
    const size_t count = 1 + random() % 300;
    std::vector<double> costs = RandomTimes(random, count);
    for (double& cost : costs) {
      if (random() % 5 == 0) cost = kInfinity;
    }
    costs[0] = kInfinity;
    const auto cost = [&](int64_t batch) {
      return costs[static_cast<size_t>(batch)];
    };
    const auto least = [&](int64_t first, int64_t last) {
      return *std::min_element(costs.begin() + first, costs.begin() + last + 1);
    };
    const auto cheapest = std::min_element(costs.begin(), costs.end());
    const int64_t expected =
        std::isinf(*cheapest) ? 0 : cheapest - costs.begin();
    for (const bool from_above : {false, true}) {
      EXPECT_EQ(CheapestBatch(cost, least, from_above)
                    .Find(1, static_cast<int64_t>(count), kInfinity),
                expected);
    }
  }
}

TEST(DecodeBatches, SplitByTheLargestRemainder) {
  const auto split = [](int64_t batch, const std::vector<double>& weights) {
    BatchSplit result;
    SplitBatch(batch, weights, result);
    return std::vector<int64_t>(result.begin(), result.end());
  };
  using Counts = std::vector<int64_t>;
  EXPECT_EQ(split(10, {1}), (Counts{10}));
  EXPECT_EQ(split(10, {.5, .3, .2}), (Counts{5, 3, 2}));
  // 3.5, 2.1, 1.4: one is left.
  EXPECT_EQ(split(7, {.5, .3, .2}), (Counts{4, 2, 1}));
  // Equal remainders: the first.
  EXPECT_EQ(split(3, {.5, .5}), (Counts{2, 1}));
  EXPECT_EQ(split(1, {.2, .2, .2, .2, .2}), (Counts{1, 0, 0, 0, 0}));
  // Thirds are not short of whole numbers by rounding.
  EXPECT_EQ(split(9, {1.0 / 3, 1.0 / 3, 1.0 / 3}), (Counts{3, 3, 3}));
  EXPECT_EQ(split(0, {.5, .5}), (Counts{0, 0}));
}

void ExpectBounds(const ServingEngine& engine, const std::string& what) {
  std::mt19937 random(5);
  const RequestGroup prompt{Role::kPrefill, engine.data_ranks(), 300, 900};
  const std::vector<std::vector<ContextShare>> mixes = {
      {{700, 1}}, {{20011, 1}}, {{100, 5}, {3000, 3}, {9999, .4}}};
  StepTimer timer;
  int ranges = 0;
  for (const auto& mix : mixes) {
    for (const int drafts : {0, 2}) {
      const DecodeBatches batches(engine, mix, {drafts});
      for (const RequestGroup* carried :
           {static_cast<const RequestGroup*>(nullptr), &prompt}) {
        for (int run = 0; run < 12; ++run) {
          const auto first = static_cast<int64_t>(1 + random() % 400);
          const int64_t last =
              first + static_cast<int64_t>(random() % (run < 6 ? 12 : 200));
          const auto range = batches.TimeRange(first, last, carried);
          if (!range.has_value()) continue;
          ++ranges;
          for (int64_t batch = first; batch <= last; ++batch) {
            const Seconds time = batches.Time(batch, carried, timer);
            ASSERT_LE(range->least, time) << what << " " << batch;
            ASSERT_GE(range->most, time) << what << " " << batch;
          }
          if (mix.size() == 1 && first == last) {
            EXPECT_NEAR(range->most / range->least, 1, 1e-3) << what;
          }
        }
      }
    }
  }
  EXPECT_GT(ranges, 20) << what;
}

// Grouped, latent, compressed, recurrent and windowed attention; experts that
// are shared and spread.
TEST(DecodeBatches, RangesHoldEveryBatch) {
  const ServingSpec spec = {
      .limits = {.max_batched_tokens = 4096, .max_sequences = 700}};
  const auto hardware = FineHardware().Build();
  int graphs = 0;
  size_t turn = 0;
  for (const auto& [id, graph] : Shipped().graphs) {
    if (++turn % 6 != 0) continue;
    for (const int data : {1, 4}) {
      TargetSpec target = TargetOn(graph, hardware, 2);
      target.weights = target.activations = target.kv_cache = Format::kBf16;
      target.parallelism.data = data;
      if (data > 1 && graph->ExpertCount() > 0) target.parallelism.expert = 8;
      Violations violations;
      const auto made = Target::Create(target, violations);
      if (!made.ok()) continue;
      const EnginePointer engine = ResolveOn(*made, spec);
      if (engine->engine().SourceOf(mansard::testing::DecodePass(4, 700)) !=
          StepSource::kEngine) {
        continue;
      }
      ++graphs;
      ExpectBounds(*engine, id + " on " + std::to_string(data));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(graphs, 12);
  ExpectBounds(*ResolveOn(ShippedTarget("deepseek-v3", "h200-sxm", "vllm-0.24",
                                        {.expert = 8, .data = 8}),
                          spec),
               "deepseek");
}

TEST(Slo, IsHeldByTheTightestTarget) {
  Slo slo;
  EXPECT_TRUE(slo.empty());
  SloValues values;
  values.time_to_first_token = Milliseconds(90);
  values.time_per_output_token = Milliseconds(8);
  EXPECT_TRUE(Meets(slo, values));
  EXPECT_FALSE(TightestMargin(slo, values).has_value());
  slo.time_to_first_token = Milliseconds(100);
  slo.time_per_output_token = Milliseconds(10);
  EXPECT_TRUE(Meets(slo, values));
  // 90 % of one, 80 % of the other.
  EXPECT_EQ(TightestMargin(slo, values)->target, SloTarget::kTimeToFirstToken);
  EXPECT_NEAR(TightestMargin(slo, values)->headroom.value(), .01, 1e-12);
  values.time_per_output_token = Milliseconds(10);
  EXPECT_TRUE(Meets(slo, values));
  values.time_per_output_token = Milliseconds(10.001);
  EXPECT_FALSE(Meets(slo, values));
  EXPECT_LT(TightestMargin(slo, values)->headroom, Seconds::Zero());
  // A target that there is no time for is not met.
  values.time_per_output_token = Milliseconds(1);
  slo.end_to_end = Seconds::Of(1000);
  EXPECT_FALSE(Meets(slo, values));
}

}  // namespace
}  // namespace mansard::model
