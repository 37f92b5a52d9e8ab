// What limits a recommended batch, and what is refused.

#include "model/serving/recommend_batch.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/toy/serving_engines.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::EnginePointer;
using mansard::testing::Recommend;
using mansard::testing::ResolveOn;
using mansard::testing::ShippedTarget;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;

BatchQuestion OfContext(int64_t context) {
  BatchQuestion question;
  question.contexts = {{context, 1}};
  return question;
}

TEST(RecommendBatch, TakesTheCallersFreeTokens) {
  const EnginePointer engine = ResolveOn(
      ShippedTarget("llama-3.1-8b", "h100-sxm", "generic", {.tensor = 1}));
  const int64_t block =
      engine->target().view().stack.spec().memory->block_tokens;
  BatchQuestion question = OfContext(1000);
  const int64_t whole = (1000 + block - 1) / block * block;
  for (const int64_t batch : {0, 1, 17, 64}) {
    for (const int64_t over : {int64_t{0}, whole - 1}) {
      question.free_kv_tokens = batch * whole + over;
      const BatchAnswer answer = Recommend(*engine, question);
      EXPECT_EQ(answer.batch, batch);
      EXPECT_EQ(answer.limit, BatchLimit::kKvBudget);
    }
  }
}

TEST(RecommendBatch, SaysWhatLimits) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "generic"),
                {.limits = {.max_batched_tokens = 1000, .max_sequences = 300}});
  BatchQuestion question = OfContext(200);
  EXPECT_EQ(Recommend(*engine, question).batch, 300);
  EXPECT_EQ(Recommend(*engine, question).limit, BatchLimit::kEngine);
  EXPECT_FALSE(Recommend(*engine, question).headroom.has_value());
  // The budget of tokens: 900 of prompts leave 100 sequences.
  question.prefill_tokens = 900;
  EXPECT_EQ(Recommend(*engine, question).batch, 100);
  question.prefill_tokens = 1000;
  EXPECT_EQ(Recommend(*engine, question).batch, 0);
  EXPECT_EQ(Recommend(*engine, question).limit, BatchLimit::kEngine);
  question.prefill_tokens = 0;
  // Drafts are new tokens, too: 1000 / 6.
  question.draft_tokens = 5;
  EXPECT_EQ(Recommend(*engine, question).batch, 166);
  question.draft_tokens = 0;

  question.slo.inter_token_latency = Milliseconds(.001);
  BatchAnswer answer = Recommend(*engine, question);
  EXPECT_EQ(answer.batch, 0);
  EXPECT_EQ(answer.limit, BatchLimit::kSlo);
  EXPECT_EQ(answer.broken_target, SloTarget::kInterTokenLatency);
  EXPECT_EQ(answer.output_tokens_per_second, 0);
  // The time of one sequence stands beside the reason.
  EXPECT_GT(answer.step.time, Milliseconds(1));
  EXPECT_LT(answer.headroom->headroom, Seconds::Zero());
  EXPECT_EQ(answer.next_batch_time, answer.step.time);

  question.slo.inter_token_latency = Milliseconds(10);
  answer = Recommend(*engine, question);
  EXPECT_GT(answer.batch, 0);
  EXPECT_GT(answer.next_batch_time, Milliseconds(10));
  EXPECT_NEAR(answer.headroom->headroom.value() + answer.step.time.value(), .01,
              1e-15);
  EXPECT_NEAR(answer.output_tokens_per_second,
              static_cast<double>(answer.batch) / answer.step.time.value(),
              1e-6);
  EXPECT_LE(answer.step.p10, answer.step.time);
  EXPECT_GE(answer.step.p90, answer.step.time);
}

TEST(RecommendBatch, FallsWithTighterTargetsAndLongerContexts) {
  const EnginePointer engine = ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}));
  BatchQuestion question = OfContext(1);
  int64_t last_target = engine->max_batch();
  // From 60 ms down to the last that is above 1 ms.
  for (int step = 0; 60 * std::pow(.93, step) > 1; ++step) {
    const double milliseconds = 60 * std::pow(.93, step);
    question.slo.inter_token_latency = Milliseconds(milliseconds);
    int64_t last_context = engine->max_batch();
    for (const int64_t context : {100, 1000, 5000, 30000, 100000}) {
      question.contexts[0].context = context;
      const int64_t batch = Recommend(*engine, question).batch;
      EXPECT_LE(batch, last_context);
      last_context = batch;
    }
    question.contexts[0].context = 2000;
    const int64_t batch = Recommend(*engine, question).batch;
    EXPECT_LE(batch, last_target);
    last_target = batch;
  }
  EXPECT_EQ(last_target, 0);
}

// A pass over the tokens that it gains: 1 + .8 + .64 of two drafts.
TEST(RecommendBatch, CountsDraftsGainByTheCallersRateOnly) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "generic"));
  BatchQuestion question = OfContext(1000);
  question.draft_tokens = 2;
  question.slo.time_per_output_token = Milliseconds(8);
  const BatchAnswer without = Recommend(*engine, question);
  question.acceptance_rate = .8;
  const BatchAnswer with = Recommend(*engine, question);
  EXPECT_NEAR(with.tokens_per_pass, 2.44, 1e-12);
  EXPECT_NEAR(with.values.time_per_output_token->value() * 2.44,
              with.step.time.value(), 1e-15);
  EXPECT_EQ(without.tokens_per_pass, 1);
  EXPECT_GT(with.batch, without.batch);
}

TEST(RecommendBatch, NamesEveryBrokenRule) {
  const EnginePointer engine = ResolveOn(
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build())));
  BatchQuestion question;
  question.contexts = {{0, 1}, {2000, -1}};
  question.prefill_tokens = -1;
  question.draft_tokens = 100;
  question.acceptance_rate = 2;
  question.free_kv_tokens = -5;
  question.slo.time_to_first_token = Seconds::Of(-1);
  question.slo.end_to_end = Seconds::Of(1);
  StepTimer timer;
  Violations violations;
  EXPECT_FALSE(
      RecommendBatch(*engine, question, timer, violations).has_value());
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) {
    fields.push_back(violation.field);
  }
  EXPECT_EQ(
      fields,
      (std::vector<std::string>{
          "slo.time_to_first_token_seconds", "slo.time_to_first_token_seconds",
          "slo.end_to_end_latency_seconds", "contexts[0].context_token_count",
          "contexts[1].context_token_count", "contexts[1].weight",
          "draft_token_count", "acceptance_rate", "prefill_token_count",
          "kv_token_budget_count"}));
}

}  // namespace
}  // namespace mansard::model
