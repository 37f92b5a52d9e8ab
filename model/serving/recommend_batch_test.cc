// Recommended batches against a scan of every batch.

#include "model/serving/recommend_batch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/serving/test_engines.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DeepSeekV3;
using mansard::testing::EnginePointer;
using mansard::testing::FineHardware;
using mansard::testing::ResolveOn;
using mansard::testing::Shipped;
using mansard::testing::ShippedTarget;
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;

BatchAnswer Recommend(const ServingEngine& engine,
                      const BatchQuestion& question) {
  StepTimer timer;
  Violations violations;
  auto answer = RecommendBatch(engine, question, timer, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return answer.value_or(BatchAnswer{});
}

// By the definition: the largest remainders get what rounding down leaves.
std::vector<int64_t> Split(int64_t batch, const BatchQuestion& question) {
  double sum = 0;
  for (const ContextShare& share : question.contexts) sum += share.weight;
  std::vector<int64_t> split;
  std::vector<double> remainders;
  for (const ContextShare& share : question.contexts) {
    const double exact = static_cast<double>(batch) * (share.weight / sum);
    split.push_back(static_cast<int64_t>(std::floor(exact + 1e-9)));
    remainders.push_back(
        std::max(0.0, exact - static_cast<double>(split.back())));
  }
  while (std::accumulate(split.begin(), split.end(), int64_t{0}) < batch) {
    const auto largest = std::max_element(remainders.begin(), remainders.end());
    ++split[static_cast<size_t>(largest - remainders.begin())];
    *largest = -1;
  }
  return split;
}

ForwardPass PassOf(const ServingEngine& engine, int64_t batch,
                   const BatchQuestion& question) {
  RequestGroups groups;
  if (question.prefill_tokens > 0) {
    const int64_t ranks =
        std::min(engine.data_ranks(), question.prefill_tokens);
    groups.push_back({Role::kPrefill, ranks,
                      (question.prefill_tokens + ranks - 1) / ranks, 0});
  }
  const std::vector<int64_t> split = Split(batch, question);
  const int64_t fresh = 1 + question.draft_tokens;
  for (size_t i = 0; i < split.size(); ++i) {
    if (split[i] == 0) continue;
    groups.push_back(
        {Role::kDecode, split[i], fresh, question.contexts[i].context - fresh});
  }
  return BuildPass(std::move(groups), int64_t{1} << 40);
}

// Times of all batches that the engine's limits allow, from 1.
std::vector<double> Scan(const ServingEngine& engine,
                         const BatchQuestion& question) {
  StepTimer timer;
  std::vector<double> times;
  for (int64_t batch = 1; batch <= engine.max_batch(); ++batch) {
    const ForwardPass pass = PassOf(engine, batch, question);
    const int64_t on_rank =
        (batch + engine.data_ranks() - 1) / engine.data_ranks() *
            (1 + question.draft_tokens) +
        (question.prefill_tokens + engine.data_ranks() - 1) /
            engine.data_ranks();
    if (on_rank > engine.limits().max_batched_tokens) break;
    times.push_back(engine.StepTime(pass, timer).value());
  }
  return times;
}

// Batches that all fit, by the memory of whole estimates.
int64_t ScanMemory(const ServingEngine& engine, BatchQuestion question,
                   int64_t most) {
  question.prefill_tokens = 0;
  for (int64_t batch = 1; batch <= most; ++batch) {
    if (!EstimatePass(engine.target(), PassOf(engine, batch, question))
             .memory.fits) {
      return batch - 1;
    }
  }
  return most;
}

struct Compared {
  int64_t questions = 0;
  int64_t with_steps_down = 0;
  int64_t looked_at = 0;
  int64_t scanned = 0;
};

// Targets at, just below and just above the times of batches all over.
void ExpectAsScanned(const ServingEngine& engine, BatchQuestion question,
                     const std::string& what, Compared& compared) {
  const std::vector<double> times = Scan(engine, question);
  const auto most = static_cast<int64_t>(times.size());
  question.slo = {};
  const int64_t fitting = Recommend(engine, question).batch;
  ASSERT_LE(fitting, most) << what;
  const bool steps_down = !std::is_sorted(times.begin(), times.end());
  for (double share = 0; share <= 1.0001; share += 1.0 / 16) {
    const auto at = static_cast<size_t>(
        std::lround(std::pow(static_cast<double>(most), share)) - 1);
    for (const double factor : {1 - 1e-12, 1.0, 1.0003}) {
      const double target = times[at] * factor;
      question.slo.inter_token_latency = Seconds::Of(target);
      const auto over =
          std::find_if(times.begin(), times.end(),
                       [&](double time) { return time > target; });
      const int64_t expected = std::min<int64_t>(fitting, over - times.begin());
      const BatchAnswer answer = Recommend(engine, question);
      ASSERT_EQ(answer.batch, expected) << what << ", target " << target;
      ++compared.questions;
      compared.with_steps_down += steps_down ? 1 : 0;
      compared.looked_at += answer.batches_looked_at;
      compared.scanned += expected + 1;
    }
  }
}

BatchQuestion OfContext(int64_t context) {
  BatchQuestion question;
  question.contexts = {{context, 1}};
  return question;
}

void ExpectAllAsScanned(const ServingEngine& engine, const std::string& what,
                        Compared& compared) {
  for (const int64_t context : {1, 777, 4096, 30011}) {
    ExpectAsScanned(engine, OfContext(context), what, compared);
    if (::testing::Test::HasFatalFailure()) return;
  }
  BatchQuestion mixed = OfContext(1500);
  mixed.prefill_tokens = 700;
  ExpectAsScanned(engine, mixed, what + " beside prompts", compared);
  BatchQuestion histogram;
  histogram.contexts = {{100, 3}, {1000, 2}, {7000, .7}, {20000, .1}};
  ExpectAsScanned(engine, histogram, what + " of many contexts", compared);
  histogram.prefill_tokens = 256;
  histogram.draft_tokens = 0;
  ExpectAsScanned(engine, histogram, what + " of many beside prompts",
                  compared);
}

TEST(RecommendBatch, IsTheScansOnShippedModelsAndStacks) {
  Compared compared;
  int engines = 0;
  size_t turn = 0;
  for (const auto& [graph_id, graph] : Shipped().graphs) {
    for (const auto& [device_id, hardware] : Shipped().profiles) {
      for (const KernelStack& stack : hardware->stacks()) {
        // Every 173rd, another set for each model.
        if (++turn % 173 != 0 || graph->spec().max_context < 30011) continue;
        TargetSpec spec = TargetOn(graph, hardware, 1 << turn % 3);
        spec.stack = &stack;
        Violations violations;
        const auto target = Target::Create(spec, violations);
        if (!target.ok()) continue;
        // All room there is: times alone decide.
        const EnginePointer engine = ResolveOn(
            *target,
            {.limits = {.max_batched_tokens = 2048,
                        .max_sequences = 512 + static_cast<int64_t>(turn % 300),
                        .kv_token_capacity = int64_t{1} << 38}});
        ++engines;
        ExpectAllAsScanned(
            *engine, graph_id + " on " + device_id + " " + stack.spec().id,
            compared);
        if (HasFatalFailure()) return;
      }
    }
    ++turn;
  }
  EXPECT_GT(engines, 20);
  EXPECT_GT(compared.with_steps_down, 100);
  // Not every batch is looked at.
  EXPECT_LT(compared.looked_at * 5, compared.scanned);
}

// Every kernel a family of its own: tiles, splits, waves, and collectives that
// step down where a library changes its kernel; experts that are spread.
TEST(RecommendBatch, IsTheScansWhereEveryKernelIsMeasured) {
  Compared compared;
  const auto hardware = FineHardware().Build();
  const ServingSpec spec = {.limits = {.max_batched_tokens = 4096,
                                       .max_sequences = 700,
                                       .kv_token_capacity = int64_t{1} << 38}};
  for (const char* id : {"llama-3.1-70b", "gpt-oss-120b", "gemma-3-27b"}) {
    TargetSpec target = TargetOn(Shipped().graphs.at(id), hardware, 8);
    target.weights = target.activations = Format::kBf16;
    ExpectAllAsScanned(*ResolveOn(BuildTarget(target), spec), id, compared);
    if (HasFatalFailure()) return;
  }
  for (const Parallelism& layout :
       {Parallelism{.expert = 8, .data = 8},
        Parallelism{.tensor = 2, .expert = 4, .data = 4}}) {
    TargetSpec target = TargetOn(BuildGraph(DeepSeekV3()), hardware);
    target.parallelism = layout;
    ServingSpec small = spec;
    small.limits.max_sequences = 100;
    ExpectAllAsScanned(*ResolveOn(BuildTarget(target), small), "DeepSeek",
                       compared);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared.with_steps_down, 50);
}

TEST(RecommendBatch, IsTheScansWithDraftsAndOnPipelines) {
  Compared compared;
  const auto toy = ToyHardware().Build();
  const ServingSpec spec = {
      .limits = {.max_batched_tokens = 256, .max_sequences = 50}};
  const EnginePointer drafts = ResolveOn(
      BuildTarget(TargetOn(BuildGraph(TinyDraftingGraph()), toy)), spec);
  BatchQuestion question = OfContext(500);
  question.draft_tokens = 2;
  // The module's own work is part of the pass: the scan's lacks it.
  question.slo.inter_token_latency = Milliseconds(1000);
  const BatchAnswer answer = Recommend(*drafts, question);
  EXPECT_EQ(answer.step.source, StepSource::kDrafts);
  StepTimer timer;
  EXPECT_GT(answer.step.time,
            drafts->StepTime(PassOf(*drafts, 50, question), timer));
  EXPECT_FALSE(IsQuick(*drafts, question));
  EXPECT_EQ(answer.batches_looked_at, 50);

  TargetSpec stages = TargetOn(BuildGraph(TinyGraph()), toy);
  stages.parallelism.pipeline = 2;
  const EnginePointer pipeline = ResolveOn(BuildTarget(stages), spec);
  EXPECT_FALSE(IsQuick(*pipeline, OfContext(500)));
  ExpectAsScanned(*pipeline, OfContext(500), "pipeline", compared);
  const EnginePointer plain =
      ResolveOn(BuildTarget(TargetOn(BuildGraph(TinyGraph()), toy)), spec);
  EXPECT_TRUE(IsQuick(*plain, OfContext(500)));
  question = OfContext(500);
  question.draft_tokens = 3;
  ExpectAsScanned(*plain, question, "verified drafts", compared);
}

// Room as whole estimates of every batch have it.
TEST(RecommendBatch, FillsTheMemoryAsEstimatesSay) {
  for (const char* id : {"llama-3.1-8b", "gpt-oss-20b", "qwen3-next-80b-a3b",
                         "gemma-3-27b", "deepseek-v2-lite"}) {
    if (Shipped().graphs.count(id) == 0) continue;
    const Parallelism two = {.tensor = 2};
    const EnginePointer engine =
        ResolveOn(ShippedTarget(id, "h100-sxm", "generic", two));
    for (const int64_t context : {3000, 20000, 32768}) {
      const BatchQuestion question = OfContext(context);
      const BatchAnswer answer = Recommend(*engine, question);
      const int64_t scanned =
          ScanMemory(*engine, question, engine->max_batch());
      EXPECT_EQ(answer.batch, scanned) << id << " " << context;
      EXPECT_EQ(answer.limit, scanned < engine->max_batch()
                                  ? BatchLimit::kKvBudget
                                  : BatchLimit::kEngine);
    }
    BatchQuestion histogram;
    histogram.contexts = {{500, 3}, {9000, 2}, {30000, 1}};
    EXPECT_EQ(Recommend(*engine, histogram).batch,
              ScanMemory(*engine, histogram, engine->max_batch()))
        << id;
  }
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

  question.slo.inter_token_latency = Milliseconds(10);
  answer = Recommend(*engine, question);
  EXPECT_GT(answer.batch, 0);
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
  for (double milliseconds = 60; milliseconds > 1; milliseconds *= .93) {
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
