#include "model/serving/served_interval.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::ResolveOn;
using mansard::testing::ShippedTarget;

struct Served {
  ServedAnswer answer;
  ServedIntervals intervals;
};

Served At(const ServingEngine& engine, double concurrency) {
  ServedLoad load;
  load.shape = {1000, 500};
  load.concurrency = concurrency;
  StepTimer timer;
  Violations violations;
  const auto answer = EstimateServedLoad(engine, load, timer, violations);
  EXPECT_TRUE(answer.has_value());
  return {*answer, IntervalsOf(engine, load, *answer, timer)};
}

void ExpectAround(const TimeInterval& interval, Seconds time) {
  EXPECT_EQ(interval.time, time);
  EXPECT_LT(interval.p10, time);
  EXPECT_GT(interval.p90, time);
}

TEST(ServedInterval, SituationsByWhatTheFitSaw) {
  const Target target =
      ShippedTarget("llama-3.1-70b", "h200-sxm", "served-vllm", {.tensor = 4});
  EngineCosts costs;
  costs.fitted_models = {"gpt-oss-120b", "Llama-3.1-70B"};
  EXPECT_EQ(SituationOf(target, costs), FitSituation::kNewDevice);
  costs.fitted_device = true;
  EXPECT_EQ(SituationOf(target, costs), FitSituation::kKnown);
  costs.fitted_models = {"gpt-oss-120b"};
  EXPECT_EQ(SituationOf(target, costs), FitSituation::kNewModel);
}

TEST(ServedInterval, OfFittedCostsAreTheirRanges) {
  const auto engine = ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "served-vllm", {.tensor = 4}),
      {});
  const auto& costs = *engine->target().view().stack.spec().engine_costs;
  const Served served = At(*engine, 16);
  const SloValues& values = served.answer.values;
  ExpectAround(*served.intervals.time_per_output_token,
               *values.time_per_output_token);
  ExpectAround(*served.intervals.time_to_first_token,
               *values.time_to_first_token);
  ExpectAround(*served.intervals.end_to_end, *values.end_to_end);
  // Ranges are of predicted over measured.
  EXPECT_NEAR(served.intervals.time_per_output_token->p10.value(),
              values.time_per_output_token->value() / costs.tpot_ranges[0].p90,
              1e-12);
  EXPECT_NEAR(served.intervals.time_to_first_token->p90.value(),
              values.time_to_first_token->value() / costs.ttft_ranges[0].p10,
              1e-12);
}

TEST(ServedInterval, OfOtherStacksAreTheKernels) {
  const auto engine = ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}),
      {});
  const Served served = At(*engine, 16);
  StepTimer timer;
  Violations none;
  const auto pass =
      ForwardPass::Create({{Role::kDecode, 16, 1, 1249}}, 131072, none);
  const StepPrediction step = engine->Step(*pass, timer);
  const TimeInterval& token = *served.intervals.time_per_output_token;
  EXPECT_NEAR(token.p10 / token.time, step.p10 / step.time, 1e-12);
  EXPECT_NEAR(token.p90 / token.time, step.p90 / step.time, 1e-12);
}

TEST(ServedInterval, RolesHaveTheirTimesAlone) {
  const auto engine = ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "served-vllm", {.tensor = 4}),
      {.role = ServingRole::kDecode});
  const Served served = At(*engine, 16);
  EXPECT_FALSE(served.intervals.time_to_first_token.has_value());
  EXPECT_FALSE(served.intervals.end_to_end.has_value());
  EXPECT_TRUE(served.intervals.time_per_output_token.has_value());
}

}  // namespace
}  // namespace mansard::model
