// Latencies of an endpoint against its passes timed one by one.

#include "model/serving/predict_latency.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/toy/served_reference.h"
#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::Allocations;
using mansard::testing::BuildPass;
using mansard::testing::EnginePointer;
using mansard::testing::ReferenceOf;
using mansard::testing::ReferenceTimes;
using mansard::testing::ResolveOn;
using mansard::testing::ShippedTarget;

LatencyAnswer Predict(const ServingEngine& engine, const LatencyQuery& query) {
  StepTimer timer;
  Violations violations;
  auto answer = PredictLatency(engine, query, timer, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return answer.value_or(LatencyAnswer{});
}

EnginePointer Llama(const ServingSpec& spec = {}) {
  return ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}),
      spec);
}

double Time(const ServingEngine& engine, RequestGroups groups) {
  StepTimer timer;
  return engine.StepTime(BuildPass(std::move(groups)), timer).value();
}

// request + 3 us a token + 80 layers of 20 us a pass + .1 ms a request.
double Constants(double tokens, double passes, double requests) {
  return .014 + 3e-6 * tokens + 20e-6 * 80 * passes + 1e-4 * requests;
}

LatencyQuery Asking(const EndpointState& state, int64_t input) {
  LatencyQuery query;
  query.state = state;
  query.input_tokens = input;
  return query;
}

TEST(PredictLatency, OfAnIdleEndpointIsThePromptAlone) {
  const EnginePointer engine = Llama();
  const LatencyAnswer answer = Predict(*engine, Asking({}, 2000));
  EXPECT_NEAR(
      answer.time_to_first_token->time.value(),
      Time(*engine, {{Role::kPrefill, 1, 2000, 0}}) + Constants(2000, 1, 1),
      1e-12);
  EXPECT_NEAR(answer.time_per_output_token->time.value(),
              Time(*engine, {{Role::kDecode, 1, 1, 1999}}), 1e-15);
  EXPECT_TRUE(answer.meets_slo);
  EXPECT_FALSE(answer.headroom.has_value());
  EXPECT_FALSE(answer.waits_for_room);
}

// 10,000 tokens ahead and 5,000 of its own, 1,000 of them cached: a full pass
// of 8,192 and one of 5,808, beside 30 decodes.
TEST(PredictLatency, FollowsThePromptsInFlight) {
  const EndpointState state = {30, 4, .1, 10000, 90000};
  LatencyQuery query = Asking(state, 5000);
  query.prefix_hit_ratio = .2;
  const RequestGroup decodes{Role::kDecode, 30, 1, 2999};
  const RequestGroup full{Role::kPrefill, 1, 8192, 0};
  const RequestGroup rest{Role::kPrefill, 1, 5808, 0};
  {
    const EnginePointer engine = Llama();
    const double d = Time(*engine, {decodes});
    // The passes, and 1.5 (1/2 + 2) decode passes, of which they hold two.
    EXPECT_NEAR(Predict(*engine, query).time_to_first_token->time.value(),
                Time(*engine, {full, decodes}) +
                    Time(*engine, {rest, decodes}) + (1.5 * 2.5 - 2) * d +
                    Constants(5000, 2, 35),
                1e-12);
  }
  const EnginePointer first = Llama({.scheduling = Scheduling::kPrefillFirst});
  EXPECT_NEAR(Predict(*first, query).time_to_first_token->time.value(),
              Time(*first, {full}) + Time(*first, {rest}) +
                  1.5 * .5 * Time(*first, {decodes}) + Constants(5000, 2, 35),
              1e-12);
  const EnginePointer prefill = Llama({.role = ServingRole::kPrefill});
  const LatencyAnswer prompts = Predict(*prefill, query);
  EXPECT_NEAR(
      prompts.time_to_first_token->time.value(),
      Time(*prefill, {full}) + Time(*prefill, {rest}) + Constants(5000, 2, 35),
      1e-12);
  EXPECT_FALSE(prompts.time_per_output_token.has_value());
}

// It, those that run and those that wait, at their mean context.
TEST(PredictLatency, DecodesWithAllThatWillRun) {
  const EnginePointer engine = Llama();
  LatencyQuery query = Asking({30, 4, .1, 0, 90000}, 1250);
  // (30 x 3000 + 5 x 1250) / 35 = 2750.
  EXPECT_NEAR(Predict(*engine, query).inter_token_latency->time.value(),
              Time(*engine, {{Role::kDecode, 35, 1, 2749}}), 1e-15);
  query.gain = {2, 3};
  EXPECT_NEAR(Predict(*engine, query).time_per_output_token->time.value(),
              Time(*engine, {{Role::kDecode, 35, 4, 2746}}) / 2, 1e-15);
  query.gain = {};
  query.generated_tokens = 10;
  const LatencyAnswer running = Predict(*engine, query);
  EXPECT_FALSE(running.time_to_first_token.has_value());
  EXPECT_NEAR(running.inter_token_latency->time.value(),
              Time(*engine, {{Role::kDecode, 30, 1, 2999}}), 1e-15);
  // The cache's usage stands in for tokens in flight.
  query.state.decode_tokens_in_flight = 0;
  query.state.kv_usage_ratio =
      30 * 3000.0 / static_cast<double>(engine->kv_token_capacity());
  EXPECT_NEAR(Predict(*engine, query).inter_token_latency->time.value(),
              Time(*engine, {{Role::kDecode, 30, 1, 2999}}), 1e-15);
}

// What served load says of as many requests in flight, half way through.
TEST(PredictLatency, IsServedLoadInTheMiddle) {
  const EnginePointer engine = Llama();
  LatencyQuery query = Asking({63, 0, 0, 0, 63 * 1536}, 1024);
  query.output_tokens = 1024;
  const LatencyAnswer answer = Predict(*engine, query);
  const ReferenceTimes served = ReferenceOf(
      *engine, {.shape = {1024, 1024, 0}, .batch = 64, .concurrency = 64});
  EXPECT_NEAR(answer.time_per_output_token->time.value() / served.tpot, 1,
              1e-3);
  // Served load adds the wait for prompts that arrive.
  EXPECT_LT(answer.time_to_first_token->time.value(), served.ttft);
  EXPECT_GT(answer.time_to_first_token->time.value(), .8 * served.ttft);
  EXPECT_NEAR(answer.end_to_end->time.value(),
              answer.time_to_first_token->time.value() +
                  1023 * answer.time_per_output_token->time.value(),
              1e-9);
}

TEST(PredictLatency, SaysWhereThereIsNoRoom) {
  const EnginePointer engine = Llama({.limits = {.max_sequences = 32}});
  LatencyQuery query = Asking({32, 7, .3, 0, 90000}, 1000);
  const LatencyAnswer unknown = Predict(*engine, query);
  EXPECT_TRUE(unknown.waits_for_room);
  query.output_tokens = 400;
  const LatencyAnswer known = Predict(*engine, query);
  // Eight have to end of 32, whose outputs take 400 tokens each.
  EXPECT_NEAR(known.time_to_first_token->time.value() -
                  unknown.time_to_first_token->time.value(),
              8.0 / 32 * 400 * known.time_per_output_token->time.value(), 1e-9);
  query = Asking({10, 0, .999, 0, 0}, 10000);
  EXPECT_TRUE(Predict(*engine, query).waits_for_room);
  query.state.kv_usage_ratio = .2;
  EXPECT_FALSE(Predict(*engine, query).waits_for_room);
}

TEST(PredictLatency, OrdersItsIntervalsAndJudgesByTheTime) {
  const EnginePointer engine = Llama();
  for (const int64_t running : {0, 1, 40, 500}) {
    for (const int64_t ahead : {0, 100, 30000}) {
      LatencyQuery query = Asking({running, 2, .3, ahead, running * 800}, 3000);
      query.output_tokens = 300;
      LatencyAnswer answer = Predict(*engine, query);
      for (const auto& interval :
           {answer.time_to_first_token, answer.inter_token_latency,
            answer.time_per_output_token, answer.end_to_end}) {
        EXPECT_LT(Seconds::Zero(), interval->p10);
        EXPECT_LE(interval->p10, interval->time);
        EXPECT_LE(interval->time, interval->p90);
      }
      query.slo.time_to_first_token = answer.time_to_first_token->time;
      EXPECT_TRUE(Predict(*engine, query).meets_slo);
      EXPECT_EQ(Predict(*engine, query).headroom->headroom, Seconds::Zero());
      query.slo.time_per_output_token = .9 * answer.time_per_output_token->time;
      answer = Predict(*engine, query);
      EXPECT_FALSE(answer.meets_slo);
      EXPECT_EQ(answer.headroom->target, SloTarget::kTimePerOutputToken);
    }
  }
}

TEST(PredictLatency, SlowsWithLoad) {
  const EnginePointer engine = Llama();
  Seconds last_first;
  Seconds last_token;
  for (const int64_t load : {0, 5, 20, 60, 120}) {
    const LatencyAnswer answer = Predict(
        *engine, Asking({load, load / 4, .001 * static_cast<double>(load),
                         load * 500, load * 2000},
                        2000));
    EXPECT_GT(answer.time_to_first_token->time, last_first);
    EXPECT_GT(answer.time_per_output_token->time, last_token);
    last_first = answer.time_to_first_token->time;
    last_token = answer.time_per_output_token->time;
  }
}

TEST(PredictLatency, AllocatesNothing) {
  const EnginePointer engine = Llama();
  LatencyQuery query = Asking({40, 3, .5, 50000, 80000}, 20000);
  query.output_tokens = 500;
  query.slo.time_to_first_token = Milliseconds(500);
  StepTimer timer;
  Violations violations;
  const int64_t before = Allocations();
  PredictLatency(*engine, query, timer, violations);
  EXPECT_EQ(Allocations() - before, 0);
}

TEST(PredictLatency, NamesEveryBrokenRule) {
  const EnginePointer engine = Llama({.role = ServingRole::kDecode});
  LatencyQuery query = Asking({-1, -1, 1.5, -1, -1}, 0);
  query.prefix_hit_ratio = -1;
  query.generated_tokens = -1;
  query.gain = {0, 2};
  query.slo.end_to_end = Seconds::Of(1);
  query.slo.time_to_first_token = Seconds::Of(1);
  StepTimer timer;
  Violations violations;
  EXPECT_FALSE(PredictLatency(*engine, query, timer, violations).has_value());
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) {
    fields.push_back(violation.field);
  }
  EXPECT_EQ(
      fields,
      (std::vector<std::string>{
          "state.running_request_count", "state.waiting_request_count",
          "state.prefill_tokens_in_flight_count",
          "state.decode_tokens_in_flight_count", "state.kv_cache_usage_ratio",
          "input_token_count", "generated_token_count",
          "prefix_cache_hit_ratio", "accepted_tokens_per_pass_count",
          "slo.end_to_end_latency_seconds",
          "slo.time_to_first_token_seconds"}));
}

// A request makes a token at least: of next to none, others' prompts would fall
// on no time at all.
TEST(PredictLatency, OutputsAreOneTokenOrMore) {
  const EnginePointer engine = Llama({});
  StepTimer timer;
  for (const double tokens : {0.0, 5e-310, 0.999, 1e9}) {
    LatencyQuery query = Asking({4, 0, 0.5}, 1000);
    query.output_tokens = tokens;
    Violations violations;
    EXPECT_FALSE(PredictLatency(*engine, query, timer, violations).has_value());
    ASSERT_EQ(violations.all().size(), 1) << tokens;
    EXPECT_EQ(violations.all()[0].field, "output_token_count");
  }
  LatencyQuery query = Asking({4, 0, 0.5}, 1000);
  query.output_tokens = 1;
  Violations violations;
  EXPECT_TRUE(PredictLatency(*engine, query, timer, violations).has_value());
}

}  // namespace
}  // namespace mansard::model
