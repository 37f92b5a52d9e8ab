// What a handful of measurements makes of an engine's times.

#include "model/serving/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/serving/capacity.h"
#include "model/serving/predict_latency.h"
#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::ShippedTarget;
using ::testing::ElementsAre;

std::unique_ptr<ServingEngine> Engine(ServingRole role) {
  Violations violations;
  auto engine = ServingEngine::Resolve(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}),
      {.role = role}, violations);
  EXPECT_TRUE(violations.empty());
  return engine;
}

ServedLoad Load(double concurrency) {
  ServedLoad load;
  load.shape = {1000, 500};
  load.concurrency = concurrency;
  return load;
}

SloValues Served(const ServingEngine& engine, double concurrency) {
  StepTimer timer;
  Violations violations;
  return EstimateServedLoad(engine, Load(concurrency), timer, violations)
      ->values;
}

// As if the deployment took `step` and `first_token` times what is predicted.
Observation RunOf(const ServingEngine& engine, double concurrency, double step,
                  double first_token) {
  const SloValues values = Served(engine, concurrency);
  Observation run;
  run.run = Load(concurrency);
  run.time_per_output_token = step * *values.time_per_output_token;
  run.time_to_first_token = first_token * *values.time_to_first_token;
  return run;
}

TEST(OwnFactor, IsTheMedianWithinLimits) {
  EXPECT_EQ(OwnFactorOf({}), 1);
  EXPECT_EQ(OwnFactorOf({1.3}), 1.3);
  EXPECT_EQ(OwnFactorOf({1.2, 9, 1.1}), 1.2);
  EXPECT_DOUBLE_EQ(OwnFactorOf({1.2, 1.4}), 1.3);
  EXPECT_EQ(OwnFactorOf({0.1}), 0.5);
  EXPECT_EQ(OwnFactorOf({7, 8, 9}), 2);
}

TEST(Observations, GiveBackTheTimesThatWereObserved) {
  const auto engine = Engine(ServingRole::kAggregated);
  const std::vector<Observation> runs = {RunOf(*engine, 8, 1.25, 1.6),
                                         RunOf(*engine, 16, 1.25, 1.6),
                                         RunOf(*engine, 32, 1.25, 1.6)};
  const ObservedFactors observed = ObserveFactors(*engine, runs);
  EXPECT_EQ(observed.step_count, 3);
  EXPECT_EQ(observed.first_token_count, 3);
  EXPECT_NEAR(observed.factors.step, 1.25, 1e-9);
  EXPECT_EQ(engine->factors(), OwnFactors{});
  engine->SetFactors(observed.factors);
  // The middle one: the others' first tokens are not all alike in how much of
  // them is passes.
  EXPECT_NEAR(*Served(*engine, 16).time_per_output_token /
                  *runs[1].time_per_output_token,
              1, 1e-9);
  EXPECT_NEAR(
      *Served(*engine, 16).time_to_first_token / *runs[1].time_to_first_token,
      1, 0.05);
}

TEST(Observations, OneBadRunOfThreeDoesNotCount) {
  const auto engine = Engine(ServingRole::kAggregated);
  const ObservedFactors observed = ObserveFactors(
      *engine, {RunOf(*engine, 8, 1.1, 1.1), RunOf(*engine, 16, 12, 40),
                RunOf(*engine, 32, 1.1, 1.1)});
  EXPECT_NEAR(observed.factors.step, 1.1, 1e-9);
  EXPECT_NEAR(*observed.ratios[1].step, 12, 1e-9);
}

TEST(Observations, StepsTellOfPassesAlone) {
  const auto engine = Engine(ServingRole::kDecode);
  Observation step;
  step.step = PassSums{};
  step.step->decode_requests = 16;
  step.step->decode_prior_tokens = 16 * 2000;
  Violations violations;
  const auto pass = PassOfSums(*step.step, 131072, violations);
  StepTimer timer;
  step.step_time = 0.8 * engine->StepTime(*pass, timer);
  const ObservedFactors observed = ObserveFactors(*engine, {step});
  EXPECT_NEAR(observed.factors.step, 0.8, 1e-9);
  EXPECT_EQ(observed.factors.first_token, 1);
  EXPECT_EQ(observed.first_token_count, 0);
}

TEST(Observations, FactorsReachEveryAnswer) {
  const auto engine = Engine(ServingRole::kAggregated);
  const auto ask = [&](SloValues& capacity, LatencyAnswer& latency) {
    StepTimer timer;
    Violations violations;
    CapacityQuestion question;
    question.shape = {1000, 500};
    question.objective = CapacityObjective::kLatency;
    capacity = FindCapacity(*engine, question, timer, violations)->values;
    LatencyQuery query;
    query.state = {.running_requests = 4, .kv_usage_ratio = 0.1};
    query.input_tokens = 1000;
    latency = *PredictLatency(*engine, query, timer, violations);
    EXPECT_TRUE(violations.empty());
  };
  SloValues capacity_before;
  SloValues capacity_after;
  LatencyAnswer before;
  LatencyAnswer after;
  ask(capacity_before, before);
  engine->SetFactors({.step = 1.5, .first_token = 1.2});
  ask(capacity_after, after);
  EXPECT_NEAR(*capacity_after.time_per_output_token /
                  *capacity_before.time_per_output_token,
              1.5, 1e-9);
  EXPECT_NEAR(
      after.time_per_output_token->time / before.time_per_output_token->time,
      1.5, 1e-9);
  EXPECT_NEAR(
      after.time_per_output_token->p90 / before.time_per_output_token->p90, 1.5,
      1e-9);
  // Passes are 1.5 times as long, constants are not; then all of it 1.2 times.
  const double first =
      after.time_to_first_token->time / before.time_to_first_token->time;
  EXPECT_GT(first, 1.2);
  EXPECT_LT(first, 1.8);
}

TEST(Observations, Rules) {
  const auto engine = Engine(ServingRole::kAggregated);
  const auto fields_of = [&](const Observation& observation) {
    Violations violations;
    CheckObservation(*engine, observation, violations);
    std::vector<std::string> fields;
    for (const auto& violation : violations.all()) {
      fields.push_back(violation.field);
    }
    return fields;
  };
  const Observation good = RunOf(*engine, 8, 1, 1);
  EXPECT_THAT(fields_of(good), ElementsAre());
  EXPECT_THAT(fields_of({}), ElementsAre("step"));
  Observation both = good;
  both.step = PassSums{};
  EXPECT_THAT(fields_of(both), ElementsAre("step"));
  Observation no_times = good;
  no_times.time_to_first_token = no_times.time_per_output_token = std::nullopt;
  EXPECT_THAT(fields_of(no_times), ElementsAre("time_to_first_token_seconds"));
  Observation negative = good;
  negative.time_per_output_token = Seconds::Of(-1);
  EXPECT_THAT(fields_of(negative),
              ElementsAre("time_per_output_token_seconds"));
  Observation no_load = good;
  no_load.run->concurrency = std::nullopt;
  EXPECT_THAT(fields_of(no_load), ElementsAre("concurrency_count"));
  Observation step;
  step.step = PassSums{};
  step.step->decode_requests = -1;
  EXPECT_THAT(fields_of(step),
              ElementsAre("step_seconds", "step.decode_request_count"));
  // One that breaks a rule by now tells nothing.
  const ObservedFactors observed = ObserveFactors(*engine, {negative, good});
  EXPECT_EQ(observed.step_count, 1);
  EXPECT_FALSE(observed.ratios[0].step.has_value());
}

}  // namespace
}  // namespace mansard::model
