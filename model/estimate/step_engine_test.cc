// Resolved engines against the same passes lowered and priced: equal times, no
// allocation, one answer for every thread.

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/engine.h"
#include "model/io/shipped.h"
#include "tests/support/allocations.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/published_recurrent.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::Allocations;
using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::DeepSeekV3;
using mansard::testing::FineHardware;
using mansard::testing::LlamaVisionAttention;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::TinyGraph;
using mansard::testing::TinyLatentGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;

constexpr double kBound = 1e-3;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    auto data = LoadShippedData();
    if (!data.ok()) std::abort();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

Engine ResolveOn(const Target& target, const EngineLimits& limits = {}) {
  Violations violations;
  auto engine = Engine::Resolve(target, limits, violations);
  EXPECT_TRUE(violations.empty());
  return *std::move(engine);
}

// Of all phases, chunked prompts and verified drafts among them.
std::vector<ForwardPass> Passes() {
  std::vector<ForwardPass> passes;
  for (const int64_t batch : {1, 8, 63, 64, 65, 255, 257, 700, 2049}) {
    passes.push_back(DecodePass(batch, 1 + 37 * batch));
  }
  for (const int64_t tokens : {1, 129, 511, 512, 513, 1499, 4097, 8192}) {
    passes.push_back(PrefillPass(1, tokens));
    passes.push_back(BuildPass({{Role::kPrefill, 1, tokens, 1111}}));
    passes.push_back(BuildPass({{Role::kPrefill, 2, tokens / 2 + 1, tokens},
                                {Role::kDecode, 61, 1, 3000}}));
  }
  passes.push_back(BuildPass({{Role::kPrefill, 3, 100, 0},
                              {Role::kDecode, 32, 1, 3000},
                              {Role::kDecode, 4, 4, 100},
                              {Role::kPrefill, 1, 77, 9000}}));
  return passes;
}

void ExpectAlike(const Engine& engine, const std::string& what) {
  StepTimer timer;
  for (const ForwardPass& pass : Passes()) {
    const StepAnswer answer = engine.StepTime(pass, timer);
    ASSERT_EQ(answer.source, StepSource::kEngine)
        << what << ": " << StepSourceName(answer.source);
    const double lowered = timer.Estimate(engine.target(), pass).value();
    ASSERT_NEAR(answer.time.value() / lowered, 1, kBound)
        << what << ", " << PhaseName(pass.phase()) << " of "
        << pass.total_new_tokens();
  }
}

TEST(Engine, IsTheLoweredTimeOnShippedModelsAndStacks) {
  int compared = 0;
  size_t turn = 0;
  for (const auto& [graph_id, graph] : Shipped().graphs) {
    for (const auto& [device_id, hardware] : Shipped().profiles) {
      for (const KernelStack& stack : hardware->stacks()) {
        // Every 37th, another set for each model.
        if (++turn % 37 != 0) continue;
        TargetSpec spec = TargetOn(graph, hardware, turn % 2 == 0 ? 1 : 2);
        spec.stack = &stack;
        Violations violations;
        const auto target = Target::Create(spec, violations);
        if (!target.ok()) continue;
        ++compared;
        ExpectAlike(ResolveOn(*target, {.tokens = 8500}),
                    graph_id + " on " + device_id + " " + stack.spec().id);
        if (HasFatalFailure()) return;
      }
    }
    ++turn;
  }
  EXPECT_GT(compared, 100);
}

// Every kernel in a family of its own, with waves, splits and limits.
TEST(Engine, IsTheLoweredTimeWhereEveryKernelIsMeasured) {
  const auto hardware = FineHardware().Build();
  for (const char* id : {"llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b",
                         "gpt-oss-120b", "qwen3-30b-a3b", "gemma-3-27b"}) {
    ASSERT_EQ(Shipped().graphs.count(id), 1u) << id;
    TargetSpec spec = TargetOn(Shipped().graphs.at(id), hardware, 2);
    spec.weights = spec.activations = Format::kBf16;
    ExpectAlike(ResolveOn(BuildTarget(spec)), id);
  }
}

Target DeepSeek(const ToyHardware& toy, Format format, Parallelism layout) {
  TargetSpec spec = TargetOn(BuildGraph(DeepSeekV3()), toy.Build());
  spec.weights = spec.activations = format;
  spec.parallelism = layout;
  return BuildTarget(spec);
}

// Experts alone, shared by width and with their tokens exchanged; batches that
// data ranks do not share evenly are among the passes.
TEST(Engine, IsTheLoweredTimeWithSpreadExperts) {
  const Parallelism layouts[] = {{.tensor = 8},
                                 {.tensor = 8, .expert = 8},
                                 {.expert = 8, .data = 8},
                                 {.data = 8},
                                 {.tensor = 2, .expert = 4, .data = 4}};
  for (const Format format : {Format::kBf16, Format::kFp8E4m3}) {
    for (size_t i = 0; i < std::size(layouts); ++i) {
      ExpectAlike(ResolveOn(DeepSeek(FineHardware(), format, layouts[i])),
                  "layout " + std::to_string(i));
    }
  }
}

TEST(Engine, IsTheLoweredTimeWithHostCosts) {
  for (const double launch : {0.01, 4.0, 1000.0}) {
    ToyHardware toy;
    toy.stack.host.cuda_graphs = false;
    toy.stack.host.eager_launch = Microseconds(launch);
    toy.stack.host.step = Microseconds(7);
    toy.stack.host.request = Microseconds(0.3);
    toy.stack.host.prefill_token = Microseconds(0.02);
    for (const auto& graph : {TinyGraph(), TinyMoeGraph(), TinyLatentGraph()}) {
      ExpectAlike(
          ResolveOn(BuildTarget(TargetOn(BuildGraph(graph), toy.Build(), 2))),
          "launch " + std::to_string(launch));
    }
  }
}

TEST(Engine, IsExactWhereEveryCountIsANode) {
  const Engine engine =
      ResolveOn(DeepSeek(FineHardware(), Format::kFp8E4m3, {.tensor = 8}));
  StepTimer timer;
  for (int64_t batch = 1; batch <= TimeCurve::kEach; batch += 5) {
    const ForwardPass pass = DecodePass(batch, 4000);
    const double lowered = timer.Estimate(engine.target(), pass).value();
    EXPECT_NEAR(engine.StepTime(pass, timer).time.value() / lowered, 1, 1e-13);
  }
}

// Every batch, so that no step between two nodes is missed.
TEST(Engine, IsWithinItsToleranceAtEveryCount) {
  TargetSpec spec =
      TargetOn(Shipped().graphs.at("llama-3.1-8b"), FineHardware().Build());
  const Engine dense = ResolveOn(BuildTarget(spec), {.tokens = 3000});
  const Engine experts =
      ResolveOn(DeepSeek(FineHardware(), Format::kFp8E4m3, {.tensor = 8}),
                {.tokens = 3000});
  StepTimer timer;
  for (const Engine* engine : {&dense, &experts}) {
    for (int64_t tokens = 250; tokens <= 3000; ++tokens) {
      const ForwardPass pass = PrefillPass(1, tokens);
      const double lowered = timer.Estimate(engine->target(), pass).value();
      ASSERT_NEAR(engine->StepTime(pass, timer).time.value() / lowered, 1,
                  kBound)
          << tokens;
    }
  }
}

TEST(Engine, LowersWhatItDoesNotHoldAndSaysSo) {
  StepTimer timer;
  const auto expect = [&](const Engine& engine, const ForwardPass& pass,
                          StepSource source) {
    const StepAnswer answer = engine.StepTime(pass, timer);
    EXPECT_EQ(answer.source, source) << StepSourceName(answer.source);
    EXPECT_EQ(engine.SourceOf(pass), source);
    EXPECT_EQ(answer.time.value(),
              timer.Estimate(engine.target(), pass).value());
  };
  const auto toy = ToyHardware().Build();
  const Engine small =
      ResolveOn(BuildTarget(TargetOn(BuildGraph(TinyMoeGraph()), toy)),
                {.tokens = 100, .positions = 200});
  EXPECT_EQ(small.SourceOf(DecodePass(100, 900)), StepSource::kEngine);
  expect(small, DecodePass(101, 900), StepSource::kLimits);
  expect(small, BuildPass({{Role::kPrefill, 1, 100, 101}}),
         StepSource::kLimits);
  Violations violations;
  expect(
      small,
      *DecodePass(3, 10).WithRouting(
          {.kind = ExpertRouting::Kind::kSpread, .shares = {}}, 4, violations),
      StepSource::kRouting);
  const Engine drafts =
      ResolveOn(BuildTarget(TargetOn(BuildGraph(TinyDraftingGraph()), toy)));
  expect(drafts,
         *DecodePass(3, 10).WithDrafting({.draft_tokens = 2}, 1, violations),
         StepSource::kDrafts);
  const Engine vision =
      ResolveOn(BuildTarget(TargetOn(BuildGraph(LlamaVisionAttention()), toy)));
  EXPECT_EQ(vision.SourceOf(DecodePass(1, 10)), StepSource::kEngine);
  expect(vision, BuildPass({{Role::kDecode, 1, 1, 100, 1601}}),
         StepSource::kEncoder);
  TargetSpec spec = TargetOn(BuildGraph(TinyGraph()), toy);
  spec.parallelism.pipeline = 2;
  expect(ResolveOn(BuildTarget(spec)), DecodePass(2, 10), StepSource::kLayout);
}

TEST(Engine, RefusesLimitsItCannotHold) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build()));
  for (const int64_t bad : {int64_t{0}, EngineLimits::kMax + 1}) {
    Violations violations;
    EXPECT_FALSE(Engine::Resolve(target, {bad, bad}, violations).has_value());
    ASSERT_EQ(violations.all().size(), 2u);
    EXPECT_EQ(violations.all()[0].field, "limits.tokens");
    EXPECT_EQ(violations.all()[1].field, "limits.positions");
  }
}

TEST(Engine, AllocatesNothing) {
  const Engine engine = ResolveOn(DeepSeek(
      FineHardware(), Format::kFp8E4m3, {.tensor = 2, .expert = 8, .data = 4}));
  const std::vector<ForwardPass> passes = Passes();
  StepTimer timer;
  const int64_t before = Allocations();
  for (const ForwardPass& pass : passes) engine.StepTime(pass, timer);
  EXPECT_EQ(Allocations() - before, 0);
}

TEST(Engine, KeepsWhatTheTargetHeld) {
  std::unique_ptr<Engine> engine;
  {
    engine = std::make_unique<Engine>(ResolveOn(
        BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build()))));
  }
  ExpectAlike(*engine, "alone");
}

TEST(Engine, GivesEveryThreadAndEveryResolutionTheSameBits) {
  const Target target =
      DeepSeek(FineHardware(), Format::kFp8E4m3, {.tensor = 8});
  const Engine one = ResolveOn(target);
  const Engine other = ResolveOn(target);
  const std::vector<ForwardPass> passes = Passes();
  std::vector<std::vector<double>> times(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < times.size(); ++i) {
    threads.emplace_back([&, i] {
      StepTimer timer;
      const Engine& engine = i % 2 == 0 ? one : other;
      for (const ForwardPass& pass : passes) {
        times[i].push_back(engine.StepTime(pass, timer).time.value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : times) EXPECT_EQ(mine, times[0]);
}

TEST(Engine, IsSmall) {
  const Engine engine =
      ResolveOn(DeepSeek(FineHardware(), Format::kFp8E4m3, {.tensor = 8}));
  EXPECT_LT(engine.memory_bytes(), size_t{256} * 1024);
  EXPECT_GT(engine.memory_bytes(), engine.nodes() * sizeof(double));
}

}  // namespace
}  // namespace mansard::model
