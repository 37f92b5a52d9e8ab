// Capacities, and batches recommended for served requests, against every batch
// by the formulas.

#include "model/serving/capacity.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/serving/recommend_batch.h"
#include "tests/support/allocations.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/served_reference.h"
#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::Allocations;
using mansard::testing::EnginePointer;
using mansard::testing::FineHardware;
using mansard::testing::ReferenceLoad;
using mansard::testing::ReferenceOf;
using mansard::testing::ReferenceTimes;
using mansard::testing::ResolveOn;
using mansard::testing::Shipped;
using mansard::testing::ShippedTarget;
using mansard::testing::TargetOn;

CapacityAnswer Capacity(const ServingEngine& engine,
                        const CapacityQuestion& question) {
  StepTimer timer;
  Violations violations;
  auto answer = FindCapacity(engine, question, timer, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return answer.value_or(CapacityAnswer{});
}

// Every batch, from 1.
std::vector<ReferenceTimes> Scan(const ServingEngine& engine,
                                 const RequestShape& shape,
                                 const DraftGain& gain, int64_t most) {
  std::vector<ReferenceTimes> all;
  for (int64_t batch = 1; batch <= most; ++batch) {
    all.push_back(
        ReferenceOf(engine, {.shape = shape,
                             .batch = batch,
                             .concurrency = static_cast<double>(batch),
                             .tokens_per_pass = gain.tokens_per_pass,
                             .drafts = gain.drafts()}));
  }
  return all;
}

bool Holds(const Slo& slo, const ReferenceTimes& times) {
  const auto within = [](const std::optional<Seconds>& target, double time) {
    return !target.has_value() || time <= target->value();
  };
  return within(slo.time_to_first_token, times.ttft) &&
         within(slo.inter_token_latency, times.decode) &&
         within(slo.time_per_output_token, times.tpot) &&
         within(slo.end_to_end, times.end_to_end);
}

// The best of those that hold, else of all; -1: there are none.
int64_t BestOf(const std::vector<ReferenceTimes>& all,
               const CapacityQuestion& question, bool must_hold) {
  int64_t best = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (must_hold && !Holds(question.slo, all[i])) continue;
    const auto better = [&](const ReferenceTimes& a, const ReferenceTimes& b) {
      return question.objective == CapacityObjective::kThroughput
                 ? a.rate > b.rate
                 : a.end_to_end < b.end_to_end;
    };
    if (best < 0 || better(all[i], all[static_cast<size_t>(best)])) {
      best = static_cast<int64_t>(i);
    }
  }
  return best;
}

// Targets that some batches hold: shares of the way from the first to the last.
std::vector<Slo> SlosFor(const std::vector<ReferenceTimes>& all) {
  std::vector<Slo> slos(1);
  for (const double share : {-1.0, .001, .1, .5, .9}) {
    const auto between = [&](double ReferenceTimes::*time) {
      const double first = all.front().*time;
      // That none holds.
      if (share < 0) return Seconds::Of(first / 2);
      return Seconds::Of(first + share * (all.back().*time - first));
    };
    slos.emplace_back().time_to_first_token = between(&ReferenceTimes::ttft);
    slos.emplace_back().inter_token_latency = between(&ReferenceTimes::decode);
    slos.emplace_back().time_per_output_token = between(&ReferenceTimes::tpot);
    slos.emplace_back().end_to_end = between(&ReferenceTimes::end_to_end);
    Slo& both = slos.emplace_back();
    both.time_to_first_token = between(&ReferenceTimes::ttft);
    both.time_per_output_token = Seconds::Of(1.2 * all.front().tpot);
  }
  return slos;
}

struct Looks {
  int64_t looked = 0;
  int64_t scanned = 0;
};

void ExpectAsScanned(const ServingEngine& engine, const RequestShape& shape,
                     const DraftGain& gain, const std::string& what,
                     Looks& looks) {
  const auto all =
      Scan(engine, shape, gain, MostSequences(engine, shape, gain));
  ASSERT_FALSE(all.empty()) << what;
  for (const Slo& slo : SlosFor(all)) {
    CapacityQuestion question{shape, slo, gain};
    for (const auto objective :
         {CapacityObjective::kThroughput, CapacityObjective::kLatency}) {
      question.objective = objective;
      int64_t expected = BestOf(all, question, true);
      const bool meets = expected >= 0;
      if (!meets) expected = BestOf(all, question, false);
      const CapacityAnswer answer = Capacity(engine, question);
      const ReferenceTimes& best = all[static_cast<size_t>(expected)];
      EXPECT_EQ(answer.meets_slo, meets) << what;
      ASSERT_EQ(answer.batch, expected + 1) << what;
      EXPECT_NEAR(answer.requests_per_second / best.rate, 1, 1e-9);
      EXPECT_NEAR(*answer.values.time_to_first_token / Seconds::Of(best.ttft),
                  1, 1e-9);
      // It works on what the batch's decodes and all prompts take.
      const double decodes = static_cast<double>(shape.output_tokens) /
                             gain.tokens_per_pass /
                             static_cast<double>(answer.batch);
      EXPECT_NEAR(
          answer.utilization,
          std::min(1.0, best.rate * (decodes * best.decode + best.prompt)),
          1e-9);
      if (meets && answer.limit == BatchLimit::kSlo) {
        EXPECT_FALSE(Holds(slo, all[static_cast<size_t>(expected) + 1]));
        EXPECT_TRUE(answer.broken_target.has_value());
      } else if (meets && answer.limit.has_value()) {
        EXPECT_EQ(answer.batch, static_cast<int64_t>(all.size()));
      }
      looks.looked += answer.batches_looked_at;
      looks.scanned += static_cast<int64_t>(all.size());
    }
    // The same times, but every batch before must hold, too.
    BatchQuestion batch;
    batch.contexts = {{static_cast<int64_t>(shape.mean_context() + .5), 1}};
    batch.slo = slo;
    batch.shape = shape;
    if (gain.drafts() > 0) continue;
    int64_t first = 0;
    while (first < static_cast<int64_t>(all.size()) &&
           Holds(slo, all[static_cast<size_t>(first)])) {
      ++first;
    }
    StepTimer timer;
    Violations violations;
    const auto answer = RecommendBatch(engine, batch, timer, violations);
    ASSERT_TRUE(answer.has_value()) << violations.ToStatus();
    ASSERT_EQ(answer->batch, first) << what;
  }
}

TEST(Capacity, IsTheScans) {
  Looks looks;
  const ServingLimits limits = {.max_sequences = 300};
  for (const Scheduling scheduling :
       {Scheduling::kMixed, Scheduling::kPrefillFirst}) {
    const ServingSpec spec = {.limits = limits, .scheduling = scheduling};
    const EnginePointer llama = ResolveOn(
        ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}),
        spec);
    for (const RequestShape& shape :
         {RequestShape{1024, 1024, 0}, RequestShape{8192, 1024, .5},
          RequestShape{20000, 50, 0}}) {
      ExpectAsScanned(*llama, shape, {}, "llama", looks);
      if (HasFatalFailure()) return;
    }
    ExpectAsScanned(*llama, {1000, 200, 0}, {1.5, 1}, "drafts", looks);
    TargetSpec fine = TargetOn(Shipped().graphs.at("llama-3.1-8b"),
                               FineHardware().Build(), 2);
    ExpectAsScanned(*ResolveOn(mansard::testing::BuildTarget(fine), spec),
                    {700, 500, 0}, {}, "fine", looks);
    if (HasFatalFailure()) return;
  }
  const EnginePointer experts =
      ResolveOn(ShippedTarget("deepseek-v3", "h200-sxm", "vllm-0.24",
                              {.expert = 8, .data = 8}),
                {.limits = {.max_sequences = 40}});
  ExpectAsScanned(*experts, {1024, 1024, 0}, {}, "deepseek", looks);
  // Most of the batches are not looked at.
  EXPECT_LT(looks.looked * 3, looks.scanned);
}

TEST(Capacity, FallsWithLongerShapesAndTighterTargets) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "vllm-0.24"));
  CapacityQuestion question;
  question.slo.time_per_output_token = Milliseconds(20);
  double last = 1e9;
  for (const int64_t input : {100, 500, 2000, 8000, 30000}) {
    question.shape = {input, 300, 0};
    const CapacityAnswer answer = Capacity(*engine, question);
    EXPECT_LT(answer.requests_per_second, last);
    last = answer.requests_per_second;
    question.shape.prefix_hit_ratio = .5;
    EXPECT_GE(Capacity(*engine, question).requests_per_second, last);
  }
  question.shape = {1000, 300, 0};
  last = 1e9;
  for (const double milliseconds : {80, 40, 20, 12, 9, 7}) {
    question.slo.time_per_output_token = Milliseconds(milliseconds);
    const CapacityAnswer answer = Capacity(*engine, question);
    if (!answer.meets_slo) continue;
    EXPECT_LE(answer.requests_per_second, last);
    last = answer.requests_per_second;
  }
  EXPECT_LT(last, 1e9);
}

TEST(Capacity, OfOneRole) {
  const Target target = ShippedTarget("llama-3.1-8b", "h100-sxm", "vllm-0.24");
  const EnginePointer prefill =
      ResolveOn(target, {.role = ServingRole::kPrefill});
  CapacityQuestion question;
  question.shape = {1000, 300, 0};
  const CapacityAnswer prompts = Capacity(*prefill, question);
  // Of 8192 tokens: at most 8 whole prompts.
  EXPECT_GE(prompts.batch, 1);
  EXPECT_LE(prompts.batch, 8);
  StepTimer timer;
  double best = 0;
  for (int64_t batch = 1; batch <= 8; ++batch) {
    const Seconds time =
        prefill->StepTime(mansard::testing::PrefillPass(batch, 1000), timer);
    best = std::max(best, static_cast<double>(batch) / time.value());
  }
  EXPECT_NEAR(prompts.requests_per_second, best, 1e-9 * best);
  EXPECT_TRUE(prompts.meets_slo);
  question.slo.time_per_output_token = Milliseconds(100);
  EXPECT_FALSE(Capacity(*prefill, question).meets_slo);

  const EnginePointer decode =
      ResolveOn(target, {.role = ServingRole::kDecode});
  const CapacityAnswer outputs = Capacity(*decode, question);
  EXPECT_TRUE(outputs.meets_slo);
  EXPECT_FALSE(outputs.values.time_to_first_token.has_value());
  EXPECT_NEAR(outputs.requests_per_second,
              static_cast<double>(outputs.batch) /
                  (300 * outputs.values.inter_token_latency->value()),
              1e-9);
  question.slo.time_to_first_token = Milliseconds(1000);
  EXPECT_FALSE(Capacity(*decode, question).meets_slo);
}

TEST(Capacity, IsNoneWithoutRoomAndAllocatesNothing) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-70b", "h100-sxm", "generic"));
  CapacityQuestion question;
  question.shape = {1000, 300, 0};
  const CapacityAnswer none = Capacity(*engine, question);
  EXPECT_EQ(none.batch, 0);
  EXPECT_EQ(none.requests_per_second, 0);
  EXPECT_FALSE(none.meets_slo);
  EXPECT_EQ(none.limit, BatchLimit::kKvBudget);
  const EnginePointer small =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "generic"));
  StepTimer timer;
  Violations violations;
  const int64_t before = Allocations();
  FindCapacity(*small, question, timer, violations);
  EXPECT_EQ(Allocations() - before, 0);
}

TEST(Capacity, NamesEveryBrokenRule) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "generic"));
  CapacityQuestion question;
  question.shape = {0, 300, 0};
  question.gain.tokens_per_pass = .5;
  question.slo.end_to_end = Seconds::Infinity();
  StepTimer timer;
  Violations violations;
  EXPECT_FALSE(FindCapacity(*engine, question, timer, violations).has_value());
  ASSERT_EQ(violations.all().size(), 3u);
  EXPECT_EQ(violations.all()[0].field, "accepted_tokens_per_pass_count");
  EXPECT_EQ(violations.all()[1].field, "shape.input_token_count");
  EXPECT_EQ(violations.all()[2].field, "slo.end_to_end_latency_seconds");
}

}  // namespace
}  // namespace mansard::model
