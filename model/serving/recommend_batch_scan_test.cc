// Recommended batches against a scan of every batch.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/serving/recommend_batch.h"
#include "tests/toy/batch_scan.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/serving_engines.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::BatchPass;
using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::DeepSeekV3;
using mansard::testing::EnginePointer;
using mansard::testing::FineHardware;
using mansard::testing::Recommend;
using mansard::testing::ResolveOn;
using mansard::testing::ScanTimes;
using mansard::testing::Shipped;
using mansard::testing::ShippedTarget;
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;

// Batches that all fit, by the memory of whole estimates.
int64_t ScanMemory(const ServingEngine& engine, BatchQuestion question,
                   int64_t most) {
  question.prefill_tokens = 0;
  for (int64_t batch = 1; batch <= most; ++batch) {
    if (!EstimatePass(engine.target(), BatchPass(engine, batch, question))
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

// At, just below and just above the times of batches all over; and such that
// one batch alone breaks them, where the next one is faster.
std::vector<double> TargetsFor(const std::vector<double>& times) {
  std::vector<double> targets;
  for (int sixteenth = 0; sixteenth <= 16; ++sixteenth) {
    const double share = sixteenth / 16.0;
    const double most = static_cast<double>(times.size());
    const auto at = static_cast<size_t>(std::lround(std::pow(most, share)) - 1);
    for (const double factor : {1 - 1e-12, 1.0, 1.0003}) {
      targets.push_back(times[at] * factor);
    }
  }
  double slowest = 0;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    const double rival = std::max(slowest, times[i + 1]);
    if (times[i] > rival && targets.size() < 100) {
      targets.push_back((times[i] + rival) / 2);
    }
    slowest = std::max(slowest, times[i]);
  }
  return targets;
}

void ExpectAsScanned(const ServingEngine& engine, BatchQuestion question,
                     const std::string& what, Compared& compared) {
  const std::vector<double> times = ScanTimes(engine, question);
  const auto most = static_cast<int64_t>(times.size());
  question.slo = {};
  const int64_t fitting = Recommend(engine, question).batch;
  ASSERT_LE(fitting, most) << what;
  const bool steps_down = !std::is_sorted(times.begin(), times.end());
  for (const double target : TargetsFor(times)) {
    question.slo.inter_token_latency = Seconds::Of(target);
    const auto over = std::find_if(times.begin(), times.end(),
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

// A library that takes its own kernel up to a buffer's limit, although another
// one is much faster from far below it: up to 300 of TinyGraph's rows of 32
// bytes. A search that looks at ends of ranges alone would step over that.
TEST(RecommendBatch, SeesATimeThatLaterBatchesFallBackFrom) {
  ToyHardware toy;
  DirectAllReduceFamily slow;
  slow.facts = {"slow-all-reduce", Tier::kSpec, .1, {}};
  slow.one_shot_bus = slow.two_shot_bus = GigabytesPerSecond(.02);
  slow.one_shot_limit.fill(Bytes::Of(300 * 32));
  toy.stack.fine.direct_all_reduce.Bind(static_cast<size_t>(LinkTier::kNvlink),
                                        slow);
  const EnginePointer engine =
      ResolveOn(BuildTarget(TargetOn(BuildGraph(TinyGraph()), toy.Build(), 2)),
                {.limits = {.max_batched_tokens = 4096,
                            .max_sequences = 4000,
                            .kv_token_capacity = int64_t{1} << 38}});
  const BatchQuestion question = OfContext(50);
  const std::vector<double> times = ScanTimes(*engine, question);
  // Batch b is times[b - 1]: the peak at 300 is never reached again.
  ASSERT_GT(times[299],
            1.5 * *std::max_element(times.begin() + 300, times.end()));
  Compared compared;
  ExpectAsScanned(*engine, question, "slow", compared);
  BatchQuestion just_below = question;
  just_below.slo.inter_token_latency =
      Seconds::Of((times[298] + times[299]) / 2);
  EXPECT_EQ(Recommend(*engine, just_below).batch, 299);
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
            drafts->StepTime(BatchPass(*drafts, 50, question), timer));
  EXPECT_FALSE(IsQuick(*drafts, question));
  EXPECT_EQ(answer.batches_looked_at, 50);
  // Something else drafts: verified on the curves.
  question.modules_draft = false;
  EXPECT_TRUE(IsQuick(*drafts, question));
  ExpectAsScanned(*drafts, question, "drafts from elsewhere", compared);

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

}  // namespace
}  // namespace mansard::model
