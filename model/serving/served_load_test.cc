// Served load against its formulas pass by pass, and what loads must do.

#include "model/serving/served_load.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/toy/served_reference.h"
#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::Allocations;
using mansard::testing::EnginePointer;
using mansard::testing::ReferenceLoad;
using mansard::testing::ReferenceOf;
using mansard::testing::ReferenceTimes;
using mansard::testing::ResolveOn;
using mansard::testing::ShippedTarget;

ServedAnswer Served(const ServingEngine& engine, const ServedLoad& load) {
  StepTimer timer;
  Violations violations;
  auto answer = EstimateServedLoad(engine, load, timer, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return answer.value_or(ServedAnswer{});
}

ServedLoad Kept(const RequestShape& shape, double concurrency) {
  ServedLoad load;
  load.shape = shape;
  load.concurrency = concurrency;
  return load;
}

EnginePointer Llama(ServingSpec spec = {}) {
  return ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}),
      spec);
}

void ExpectNear(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << what;
}

void ExpectAsReference(const ServingEngine& engine, const ServedLoad& load) {
  const ServedAnswer answer = Served(engine, load);
  ReferenceLoad same;
  same.shape = load.shape;
  same.batch = static_cast<int64_t>(answer.batch);
  same.concurrency = *load.concurrency;
  same.slots_share = 1 / load.requests_per_slot.value_or(INFINITY);
  same.tokens_per_pass = load.gain.tokens_per_pass;
  same.drafts = load.gain.drafts();
  const ReferenceTimes times = ReferenceOf(engine, same);
  ExpectNear(answer.passes.decode.value(), times.decode, "D");
  EXPECT_NEAR(answer.passes.prompt.value(), times.prompt, 1e-9 * times.decode);
  ExpectNear(answer.passes.prompt_alone.value(), times.alone, "P0");
  EXPECT_EQ(static_cast<double>(answer.prompt_passes), times.passes);
  ExpectNear(answer.values.inter_token_latency->value(), times.decode, "ITL");
  ExpectNear(answer.values.time_per_output_token->value(), times.tpot, "TPOT");
  ExpectNear(answer.values.time_to_first_token->value(), times.ttft, "TTFT");
  ExpectNear(answer.values.end_to_end->value(), times.end_to_end, "E2E");
  ExpectNear(answer.requests_per_second, times.rate, "rate");
  ExpectNear(answer.first_token.Sum().value(), times.ttft, "parts");
  ExpectNear(answer.output_tokens_per_second,
             times.rate * static_cast<double>(load.shape.output_tokens),
             "tokens");
}

TEST(ServedLoad, IsTheFormulaOverShapesAndSchedulings) {
  for (const Scheduling scheduling :
       {Scheduling::kMixed, Scheduling::kPrefillFirst}) {
    const EnginePointer engine = Llama({.scheduling = scheduling});
    for (const RequestShape& shape :
         {RequestShape{1024, 1024, 0}, RequestShape{8192, 1024, .3},
          RequestShape{100, 8192, 0}, RequestShape{40000, 100, .5},
          RequestShape{1, 1, 1}}) {
      for (const double concurrency : {1, 2, 37, 300}) {
        ServedLoad load = Kept(shape, concurrency);
        ExpectAsReference(*engine, load);
        load.requests_per_slot = 10;
        ExpectAsReference(*engine, load);
        load.gain = {1.7, 2};
        ExpectAsReference(*engine, load);
      }
    }
  }
}

TEST(ServedLoad, HoldsRequestsAsTheEngineAdmitsThem) {
  for (const Admission& admission :
       {Admission{30, 0, 1}, Admission{1, 20, .9}, Admission{10, 40, .5}}) {
    const EnginePointer engine = Llama({.admission = admission});
    for (const double concurrency : {1, 2, 37, 300}) {
      ServedLoad load = Kept({1024, 1024, 0}, concurrency);
      ExpectAsReference(*engine, load);
      load.requests_per_slot = 10;
      ExpectAsReference(*engine, load);
    }
  }
}

TEST(ServedLoad, RunsAPromptOnEachDataRank) {
  const EnginePointer engine = ResolveOn(ShippedTarget(
      "deepseek-v3", "h200-sxm", "generic", {.expert = 8, .data = 8}));
  for (const double concurrency : {1, 3, 8, 9, 200}) {
    ExpectAsReference(*engine, Kept({1024, 1024, 0}, concurrency));
    ExpectAsReference(*engine, Kept({20000, 300, 0}, concurrency));
  }
}

// 16 passes stand for all: prompts' passes grow evenly.
TEST(ServedLoad, SamplesPromptsOfVeryManyPasses) {
  const EnginePointer engine = Llama({.limits = {.max_batched_tokens = 512}});
  const ServedLoad load = Kept({40000, 100, 0}, 8);
  const ServedAnswer answer = Served(*engine, load);
  EXPECT_EQ(answer.prompt_passes, 79);
  const ReferenceTimes times =
      ReferenceOf(*engine, {.shape = load.shape, .batch = 8, .concurrency = 8});
  EXPECT_NEAR(answer.passes.prompt.value() / times.prompt, 1, .02);
  EXPECT_NEAR(answer.passes.prompt_alone.value() / times.alone, 1, .02);
}

ServingConstants None() {
  ServingConstants none;
  none.request = none.input_token = none.prompt_layer =
      none.concurrent_request = Seconds::Zero();
  none.decode_passes = 0;
  return none;
}

TEST(ServedLoad, WithoutLoadWaitsForItsOwnPromptOnly) {
  const EnginePointer engine = Llama({.constants = None()});
  ServedLoad load;
  load.shape = {2000, 500, 0};
  load.requests_per_second = 1e-6;
  const ServedAnswer answer = Served(*engine, load);
  EXPECT_NEAR(*answer.values.time_to_first_token / answer.passes.prompt, 1,
              1e-4);
  EXPECT_EQ(*answer.values.time_per_output_token, answer.passes.decode);
  EXPECT_LT(answer.batch, 1e-4);
  EXPECT_LT(answer.utilization, 1e-3);
  EXPECT_EQ(answer.first_token.queue, Seconds::Zero());
}

TEST(ServedLoad, ServesARateByLittlesLaw) {
  const EnginePointer engine = Llama();
  ServedLoad load;
  load.shape = {1024, 256, 0};
  load.requests_per_second = 1;
  const double most = Served(*engine, load).most_requests_per_second;
  double last = 0;
  for (const double share : {.001, .1, .3, .5, .8, .95, .999}) {
    load.requests_per_second = share * most;
    const ServedAnswer answer = Served(*engine, load);
    ASSERT_FALSE(answer.saturated) << share;
    EXPECT_NEAR(
        answer.concurrency / (share * most * answer.values.end_to_end->value()),
        1, 1e-6);
    EXPECT_NEAR(answer.requests_per_second / (share * most), 1, 1e-6);
    EXPECT_NEAR(answer.utilization, share, 1e-6);
    EXPECT_GT(answer.concurrency, last);
    EXPECT_LE(answer.batch, static_cast<double>(answer.most_sequences));
    last = answer.concurrency;
    // The same load, kept in flight.
    EXPECT_NEAR(Served(*engine, Kept(load.shape, answer.concurrency))
                        .requests_per_second /
                    (share * most),
                1, 1e-6);
  }
  load.requests_per_second = 1.001 * most;
  const ServedAnswer saturated = Served(*engine, load);
  EXPECT_TRUE(saturated.saturated);
  EXPECT_EQ(saturated.utilization, 1);
  EXPECT_EQ(saturated.requests_per_second, most);
  EXPECT_FALSE(saturated.values.end_to_end.has_value());
}

TEST(ServedLoad, QueuesBeyondWhatRunsAtOnce) {
  const EnginePointer engine = Llama({.limits = {.max_sequences = 64}});
  const RequestShape shape{1024, 1024, 0};
  EXPECT_EQ(Served(*engine, Kept(shape, 64)).first_token.queue,
            Seconds::Zero());
  EXPECT_EQ(Served(*engine, Kept(shape, 64)).limit, ServedLimit::kLoad);
  const ServedAnswer twice = Served(*engine, Kept(shape, 128));
  EXPECT_EQ(twice.batch, 64);
  EXPECT_EQ(twice.limit, ServedLimit::kSequences);
  EXPECT_NEAR(
      twice.first_token.queue / (1024 * *twice.values.time_per_output_token), 1,
      1e-12);
  const EnginePointer little = Llama({.limits = {.kv_token_capacity = 16000}});
  // 16000 / 1536, in blocks.
  const ServedAnswer few = Served(*little, Kept(shape, 128));
  EXPECT_EQ(few.batch, 10);
  EXPECT_EQ(few.limit, ServedLimit::kKvCapacity);
  const EnginePointer none = Llama({.limits = {.kv_token_capacity = 100}});
  const ServedAnswer nothing = Served(*none, Kept(shape, 1));
  EXPECT_TRUE(nothing.saturated);
  EXPECT_EQ(nothing.most_sequences, 0);
}

TEST(ServedLoad, SlowsWithLoadAndLength) {
  const EnginePointer engine = Llama();
  Seconds last;
  for (const double concurrency : {1, 2, 8, 40, 160, 320}) {
    const ServedAnswer answer =
        Served(*engine, Kept({2000, 1000, 0}, concurrency));
    EXPECT_GT(*answer.values.end_to_end, last);
    last = *answer.values.end_to_end;
    const ServedAnswer longer =
        Served(*engine, Kept({4000, 1000, 0}, concurrency));
    EXPECT_GT(*longer.values.time_to_first_token,
              *answer.values.time_to_first_token);
    EXPECT_LT(longer.requests_per_second, answer.requests_per_second);
    const ServedAnswer hit =
        Served(*engine, Kept({4000, 1000, .5}, concurrency));
    EXPECT_LT(*hit.values.time_to_first_token,
              *longer.values.time_to_first_token);
  }
}

TEST(ServedLoad, OfOneRoleHasItsTimesOnly) {
  const EnginePointer decode = Llama({.role = ServingRole::kDecode});
  const ServedAnswer outputs = Served(*decode, Kept({1000, 500, 0}, 32));
  EXPECT_FALSE(outputs.values.time_to_first_token.has_value());
  EXPECT_EQ(*outputs.values.time_per_output_token, outputs.passes.decode);
  EXPECT_NEAR(outputs.requests_per_second,
              32 / (500 * outputs.passes.decode.value()), 1e-9);

  const EnginePointer prefill = Llama({.role = ServingRole::kPrefill});
  ServedLoad load = Kept({1000, 500, 0}, 1);
  const ServedAnswer prompts = Served(*prefill, load);
  EXPECT_FALSE(prompts.values.time_per_output_token.has_value());
  const Seconds alone = prompts.passes.prompt_alone;
  EXPECT_NEAR(prompts.requests_per_second, 1 / alone.value(), 1e-9);
  // Three wait for one another: the last for two.
  EXPECT_NEAR(
      Served(*prefill, Kept({1000, 500, 0}, 3)).first_token.queue / alone, 2,
      1e-9);
  // A server of one fixed time, four fifths busy: .8 / .2 / 2 of it.
  load.concurrency.reset();
  load.requests_per_second = .8 / alone.value();
  const ServedAnswer busy = Served(*prefill, load);
  EXPECT_NEAR(busy.first_token.wait / alone, 2, 1e-9);
  EXPECT_NEAR(busy.utilization, .8, 1e-9);
}

TEST(ServedLoad, AllocatesNothing) {
  const EnginePointer engine = Llama();
  StepTimer timer;
  Violations violations;
  const ServedLoad load = Kept({8192, 1024, .3}, 100);
  const int64_t before = Allocations();
  EstimateServedLoad(*engine, load, timer, violations);
  EXPECT_EQ(Allocations() - before, 0);
}

TEST(ServedLoad, NamesEveryBrokenRule) {
  const EnginePointer engine = Llama();
  StepTimer timer;
  const auto fields_of = [&](const ServedLoad& load) {
    Violations violations;
    EXPECT_FALSE(
        EstimateServedLoad(*engine, load, timer, violations).has_value());
    std::vector<std::string> fields;
    for (const Violation& violation : violations.all()) {
      fields.push_back(violation.field);
    }
    return fields;
  };
  ServedLoad load = Kept({0, 0, 2}, -1);
  load.requests_per_second = 1;
  load.requests_per_slot = .5;
  load.gain = {4, 2};
  EXPECT_EQ(fields_of(load),
            (std::vector<std::string>{
                "accepted_tokens_per_pass_count", "shape.input_token_count",
                "shape.output_token_count", "shape.prefix_cache_hit_ratio",
                "concurrency_count", "concurrency_count",
                "requests_per_slot_count"}));
  EXPECT_EQ(fields_of(Kept({131072, 1, 0}, 1)),
            std::vector<std::string>{"shape.output_token_count"});
}

}  // namespace
}  // namespace mansard::model
