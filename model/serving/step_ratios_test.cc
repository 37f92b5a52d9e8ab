// Steps of a resolved engine against whole estimates of the same passes.

#include "model/serving/step_ratios.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/toy/serving_engines.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::Allocations;
using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::EnginePointer;
using mansard::testing::PrefillPass;
using mansard::testing::ResolveOn;
using mansard::testing::ShippedTarget;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;

// Of all phases, chunked prompts and several contexts among them.
ForwardPass RandomPass(std::mt19937& random) {
  const auto count = [&](double first, double last) {
    std::uniform_real_distribution<double> logarithm(std::log(first),
                                                     std::log(last));
    return static_cast<int64_t>(std::exp(logarithm(random)));
  };
  RequestGroups groups;
  const int kind = static_cast<int>(random() % 3);
  if (kind != 0) {
    const int64_t requests = count(1, 8);
    groups.push_back({Role::kPrefill, requests, count(8, 4000) / requests + 1,
                      random() % 2 == 0 ? 0 : count(100, 20000)});
  }
  if (kind != 1) {
    groups.push_back({Role::kDecode, count(1, 700), 1, count(1, 60000)});
    if (random() % 3 == 0) {
      groups.push_back({Role::kDecode, count(1, 100), 1, count(1, 8000)});
    }
  }
  return BuildPass(std::move(groups));
}

struct Errors {
  std::vector<double> ratios;
  int bounds = 0;  // That are others.
  int passes = 0;

  double At(double share) {
    std::sort(ratios.begin(), ratios.end());
    return ratios[static_cast<size_t>(share *
                                      static_cast<double>(ratios.size() - 1))];
  }
};

void Compare(const ServingEngine& engine, Errors& errors) {
  std::mt19937 random(7);
  StepTimer timer;
  for (int i = 0; i < 400; ++i) {
    const ForwardPass pass = RandomPass(random);
    const StepPrediction step = engine.Step(pass, timer);
    const PhaseEstimate whole = EstimatePass(engine.target(), pass).phase;
    EXPECT_NEAR(step.time / whole.estimate, 1, 1e-3);
    EXPECT_LE(step.p10, step.time);
    EXPECT_GE(step.p90, step.time);
    errors.ratios.push_back(std::abs(step.p10 / whole.p10 - 1));
    errors.ratios.push_back(std::abs(step.p90 / whole.p90 - 1));
    ++errors.passes;
    // Of two bounds that are as good as equal, either will do.
    if (whole.bound_times[static_cast<size_t>(step.bound)] <
        .8 * whole.bound_times[static_cast<size_t>(whole.bound)]) {
      ++errors.bounds;
    }
    EXPECT_EQ(step.tier, whole.tier);
  }
}

// The worst are many short parts of prompts over long caches, of which the
// table has one at a time, and passes whose p10 is at the floor.
TEST(StepRatios, AreTheWholeEstimatesOnShippedStacks) {
  struct Case {
    std::string graph;
    std::string device;
    std::string stack;
    Parallelism layout;
  };
  for (const Case& engine :
       {Case{"llama-3.1-8b", "h100-sxm", "generic", {}},
        Case{"llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}},
        Case{"llama-3.1-70b",
             "a100-sxm-80gb",
             "generic-measured",
             {.tensor = 8}},
        Case{"deepseek-v3", "h200-sxm", "vllm-0.24", {.tensor = 8}},
        Case{"deepseek-v3",
             "h200-sxm",
             "sglang-0.5.14",
             {.expert = 8, .data = 8}},
        Case{"gpt-oss-120b", "b200-sxm", "generic", {.tensor = 2}},
        Case{"qwen3-30b-a3b", "h100-sxm", "trtllm-1.3.0rc20", {.tensor = 2}}}) {
    Errors errors;
    Compare(*ResolveOn(ShippedTarget(engine.graph, engine.device, engine.stack,
                                     engine.layout)),
            errors);
    EXPECT_LT(errors.At(.5), .004) << engine.graph;
    EXPECT_LT(errors.At(.95), .03) << engine.graph;
    EXPECT_LT(errors.At(1), .12) << engine.graph;
    EXPECT_LT(errors.bounds * 20, errors.passes) << engine.graph;
  }
}

TEST(StepRatios, SaysWhereAPassIsBeyondTheTable) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "generic"));
  StepTimer timer;
  const int64_t most = engine->max_batch();
  EXPECT_FALSE(engine->Step(DecodePass(most, 4000), timer).extrapolated);
  EXPECT_TRUE(engine->Step(DecodePass(3 * most, 4000), timer).extrapolated);
  EXPECT_TRUE(
      engine
          ->Step(PrefillPass(1, 9 * engine->limits().max_batched_tokens), timer)
          .extrapolated);
}

TEST(ServingEngine, TakesTheStacksLimitsOrTheCallers) {
  const Target target = ShippedTarget("llama-3.1-8b", "h100-sxm", "generic");
  const EngineMemory& memory = *target.view().stack.spec().memory;
  const EnginePointer plain = ResolveOn(target);
  EXPECT_EQ(plain->limits().max_batched_tokens, memory.token_budget);
  EXPECT_EQ(plain->limits().max_sequences, memory.sequence_limit);
  EXPECT_EQ(plain->scheduling(), Scheduling::kMixed);
  // With the stack's own limits, the room that estimates say.
  EXPECT_EQ(plain->kv_token_capacity(),
            EstimatePass(target, DecodePass(1, 1)).memory.kv_token_capacity);
  EXPECT_EQ(plain->room().RequestsThatFit(5000),
            EstimatePass(target, DecodePass(1, 5000)).memory.max_requests);

  const EnginePointer own =
      ResolveOn(target, {.limits = {.max_batched_tokens = 2048,
                                    .max_sequences = 100,
                                    .kv_token_capacity = 123456}});
  EXPECT_EQ(own->max_batch(), 100);
  EXPECT_EQ(own->kv_token_capacity(),
            123456 / memory.block_tokens * memory.block_tokens);
  // A tenth of the device's memory less.
  const EnginePointer less = ResolveOn(
      target, {.limits = {.kv_block_tokens = 64,
                          .memory_utilization = memory.usable_fraction - .1}});
  const double lost = static_cast<double>(plain->kv_token_capacity() -
                                          less->kv_token_capacity());
  // 32 layers of 8 heads of 128, keys and values, two bytes each.
  EXPECT_NEAR(lost * 32 * 8 * 128 * 2 * 2,
              .1 * target.view().device.HbmCapacity().value(), 64 * 131072.0);
  EXPECT_EQ(less->kv_token_capacity() % 64, 0);
  // A smaller largest pass leaves more room.
  EXPECT_GT(ResolveOn(target, {.limits = {.max_batched_tokens = 2048,
                                          .max_sequences = 100}})
                ->kv_token_capacity(),
            plain->kv_token_capacity());
}

TEST(ServingEngine, KnowsTheSchedulerByTheStack) {
  const auto engine = [](const char* stack) {
    return ResolveOn(ShippedTarget("llama-3.1-8b", "h200-sxm", stack));
  };
  EXPECT_EQ(engine("sglang-0.5.14")->scheduling(), Scheduling::kPrefillFirst);
  EXPECT_EQ(engine("sglang-0.5.14")->constants().request, Milliseconds(155));
  EXPECT_EQ(engine("trtllm-1.3.0rc20")->scheduling(), Scheduling::kMixed);
  EXPECT_EQ(engine("trtllm-1.3.0rc20")->constants().request, Milliseconds(22));
  EXPECT_EQ(engine("vllm-0.24")->constants().request, Milliseconds(14));
}

TEST(ServingEngine, RefusesLimitsItCannotHave) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build()));
  Violations violations;
  EXPECT_EQ(ServingEngine::Resolve(target,
                                   {.limits = {.max_batched_tokens = -1,
                                               .max_sequences = 1'000'000,
                                               .kv_token_capacity = 0,
                                               .kv_block_tokens = 0,
                                               .memory_utilization = 1.5}},
                                   violations),
            nullptr);
  ASSERT_EQ(violations.all().size(), 5u);
  EXPECT_EQ(violations.all()[0].field, "limits.max_batched_token_count");
  EXPECT_EQ(violations.all()[1].field, "limits.max_sequence_count");
  EXPECT_EQ(violations.all()[2].field, "limits.kv_token_capacity_count");
  EXPECT_EQ(violations.all()[3].field, "limits.kv_block_token_count");
  EXPECT_EQ(violations.all()[4].field, "limits.memory_utilization_ratio");
}

TEST(ServingEngine, StepsAllocateNothing) {
  const EnginePointer engine = ResolveOn(ShippedTarget(
      "deepseek-v3", "h200-sxm", "vllm-0.24", {.expert = 8, .data = 8}));
  const ForwardPass passes[] = {DecodePass(64, 4096), PrefillPass(3, 1000),
                                BuildPass({{Role::kPrefill, 1, 512, 1024},
                                           {Role::kDecode, 64, 1, 4095}})};
  StepTimer timer;
  const int64_t before = Allocations();
  for (const ForwardPass& pass : passes) engine->Step(pass, timer);
  EXPECT_EQ(Allocations() - before, 0);
}

}  // namespace
}  // namespace mansard::model
