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

Served Of(const ServingEngine& engine, const ServedLoad& load) {
  StepTimer timer;
  Violations violations;
  const auto answer = EstimateServedLoad(engine, load, timer, violations);
  EXPECT_TRUE(answer.has_value());
  return {*answer, IntervalsOf(engine, load, *answer, timer)};
}

Served At(const ServingEngine& engine, double concurrency) {
  ServedLoad load;
  load.shape = {1000, 500};
  load.concurrency = concurrency;
  return Of(engine, load);
}

Served Arriving(const ServingEngine& engine, double rate) {
  ServedLoad load;
  load.shape = {1000, 500};
  load.requests_per_second = rate;
  return Of(engine, load);
}

void ExpectAlone(const RateInterval& interval, double value) {
  EXPECT_EQ(interval.value, value);
  EXPECT_EQ(interval.p10, value);
  EXPECT_EQ(interval.p90, value);
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

// Little: requests in flight = rate x time, for the ends of both intervals too.
TEST(ServedInterval, RatesGoAsTheTimeOfARequest) {
  const auto engine = ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "served-vllm", {.tensor = 4}),
      {});
  const Served kept = At(*engine, 16);
  const TimeInterval& whole = *kept.intervals.end_to_end;
  const RateInterval& rate = kept.intervals.requests_per_second;
  EXPECT_EQ(rate.value, kept.answer.requests_per_second);
  EXPECT_NEAR(rate.p10 * whole.p90.value(), rate.value * whole.time.value(),
              1e-9);
  EXPECT_NEAR(rate.p90 * whole.p10.value(), rate.value * whole.time.value(),
              1e-9);
  EXPECT_NEAR(kept.intervals.output_tokens_per_second.p10, 500 * rate.p10,
              1e-9);
  ExpectAlone(kept.intervals.utilization, kept.answer.utilization);

  const Served arriving = Arriving(*engine, 1);
  ExpectAlone(arriving.intervals.requests_per_second, 1);
  ExpectAlone(arriving.intervals.output_tokens_per_second, 500);
  const RateInterval& most = arriving.intervals.most_requests_per_second;
  const RateInterval& used = arriving.intervals.utilization;
  EXPECT_LT(most.p10, most.value);
  EXPECT_GT(most.p90, most.value);
  EXPECT_NEAR(used.p90 * most.p10, 1, 1e-9);
  EXPECT_NEAR(used.p10 * most.p90, 1, 1e-9);

  const Served flooded = Arriving(*engine, 1e6);
  ASSERT_TRUE(flooded.answer.saturated);
  EXPECT_EQ(flooded.intervals.requests_per_second.value,
            flooded.answer.requests_per_second);
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
