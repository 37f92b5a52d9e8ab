// What holds of every layout: drawn at random, on models of every kind.

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/estimate/step_time.h"
#include "model/io/shipped.h"
#include "tests/properties/checks.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/published_recurrent.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::ForwardPass;
using model::Parallelism;
using model::Role;

const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto data = model::LoadShippedData();
    if (!data.ok()) std::abort();
    return new model::ShippedData(*std::move(data));
  }();
  return *kData;
}

std::vector<std::pair<std::string, std::shared_ptr<const model::ModelGraph>>>
Graphs() {
  return {{"DeepSeek", BuildGraph(DeepSeekV3())},
          {"Mixtral", BuildGraph(Mixtral8x7b())},
          {"sinks and windows", BuildGraph(GptOss20bAttention())},
          {"sparse", BuildGraph(DeepSeekV32Attention())},
          {"compressed", BuildGraph(DeepSeekV4FlashAttention())},
          {"cross-attention", BuildGraph(LlamaVisionAttention())},
          {"Jamba", BuildGraph(Jamba15Mini())},
          {"Qwen3-Next", BuildGraph(Qwen3Next80b())},
          {"flows", BuildGraph(TinyFlowsGraph())},
          {"streams", BuildGraph(TinyStreamsGraph())},
          {"drafting", BuildGraph(TinyDraftingGraph())},
          {"Llama", Shipped().graphs.at("llama-3.1-70b")}};
}

std::vector<ForwardPass> Passes() {
  return {DecodePass(1, 1000), DecodePass(77, 3000), PrefillPass(3, 5000),
          BuildPass({{Role::kPrefill, 5, 700, 900, 30},
                     {Role::kDecode, 41, 1, 2000, 30}})};
}

// Sizes that a caller may ask for, most of them legal.
class Draws {
 public:
  Parallelism Next() {
    return {.tensor = Power(4),
            .pipeline = Pick({0, 0, 0, 2, 3, 4}),
            .expert = Pick({0, 0, 1, 2, 4, 8, 16, 32}),
            .data = Pick({0, 1, 2, 4, 8, 3}),
            .moe_tensor = Pick({0, 0, 0, 1, 2, 4}),
            .context = Pick({0, 0, 0, 2, 4}),
            .nodes = Pick({0, 0, 0, 2}),
            .micro_batches = Pick({0, 0, 2, 5})};
  }

 private:
  int Power(int most) {
    return 1 << std::uniform_int_distribution<int>(0, most)(random_);
  }
  int Pick(std::vector<int> from) {
    return from[std::uniform_int_distribution<size_t>(
        0, from.size() - 1)(random_)];
  }
  std::mt19937 random_{20};
};

std::string TextOf(const model::Layout& layout) {
  return ::testing::PrintToString(
      std::vector<int>{layout.tensor(), layout.pipeline(), layout.data(),
                       layout.expert(), layout.moe_tensor(), layout.context(),
                       layout.node_count(), layout.micro_batches()});
}

// Each rank of a stage holds a share of its weights: together they hold the
// model at least, and no rank more than all of it.
void ExpectWeightsCover(const model::Target& target, const ForwardPass& pass,
                        model::Bytes whole) {
  const model::Layout& layout = target.layout();
  model::Bytes all;
  for (int stage = 0; stage < layout.pipeline(); ++stage) {
    model::Bytes mine;
    for (const model::Op& op :
         model::Lower(target.graph(), pass, layout, target.formats(),
                      target.fusion(), {stage, 1, 0})) {
      mine += op.repeat * op.held;
    }
    EXPECT_LE(mine, whole * (1 + kRounding));
    all += layout.stage_devices() * mine;
  }
  EXPECT_GE(all, whole * (1 - kRounding));
}

void ExpectPipeline(const model::Target& target,
                    const model::Estimate& estimate) {
  const model::PipelineEstimate& pipeline = estimate.phase.pipeline;
  EXPECT_EQ(pipeline.stages, target.layout().pipeline());
  EXPECT_GE(pipeline.bubble, 0);
  EXPECT_LT(pipeline.bubble, 1);
  if (pipeline.stages == 1) return;
  model::Seconds path, slowest;
  for (model::Seconds time : pipeline.stage_times) {
    path += time;
    slowest = Max(slowest, time);
  }
  path += (pipeline.micro_batches - 1) * slowest;
  const model::Seconds host = estimate.ops.back().kind == model::OpKind::kHost
                                  ? estimate.times.back().estimate
                                  : model::Seconds::Zero();
  ExpectSame((path + host).value(), estimate.phase.estimate.value(), "path");
  EXPECT_LE(pipeline.steady_step, estimate.phase.estimate * (1 + kRounding));
  EXPECT_GE(pipeline.steady_step,
            pipeline.micro_batches * slowest * (1 - kRounding));
}

TEST(Layouts, EstimatesKeepEveryProperty) {
  const auto hardware = Shipped().profiles.at("h100-sxm");
  Draws draws;
  model::StepTimer timer;
  int legal = 0;
  for (const auto& [name, graph] : Graphs()) {
    for (int draw = 0; draw < 250; ++draw) {
      model::TargetSpec spec = TargetOn(graph, hardware);
      spec.parallelism = draws.Next();
      if (spec.parallelism.pipeline == 0) spec.parallelism.micro_batches = 0;
      model::Violations violations;
      const auto target = model::Target::Create(spec, violations);
      ASSERT_EQ(target.ok(), violations.empty());
      if (!target.ok()) continue;
      ++legal;
      SCOPED_TRACE(name + " " + TextOf(target->layout()));
      const model::Target single = BuildTarget(TargetOn(graph, hardware));
      for (const ForwardPass& base : Passes()) {
        const int modules = graph->spec().mtp.modules;
        const ForwardPass pass =
            modules > 0 && base.phase() == model::Phase::kDecode
                ? *base.WithDrafting({.draft_tokens = 2}, modules, violations)
                : base;
        const model::Estimate estimate = EstimatePass(*target, pass);
        ExpectInOrder(estimate, *graph);
        ExpectSumsToTheStep(estimate);
        ExpectPipeline(*target, estimate);
        EXPECT_EQ(timer.Estimate(*target, pass).value(),
                  estimate.phase.estimate.value());
        ExpectWeightsCover(*target, pass,
                           EstimatePass(single, pass).memory.weights);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(legal, 300);
}

// More devices of any kind never make a rank hold more.
TEST(Layouts, MoreRanksHoldLessEach) {
  const auto hardware = Shipped().profiles.at("h100-sxm");
  const auto graph = BuildGraph(DeepSeekV3());
  const ForwardPass pass = DecodePass(64, 8000);
  const auto memory = [&](const Parallelism& parallelism) {
    model::TargetSpec spec = TargetOn(graph, hardware);
    spec.parallelism = parallelism;
    return EstimatePass(BuildTarget(spec), pass).memory;
  };
  const std::vector<std::vector<Parallelism>> kSeries = {
      {{.tensor = 1}, {.tensor = 2}, {.tensor = 8}, {.tensor = 16}},
      {{.data = 1}, {.data = 2}, {.data = 8}, {.data = 32}},
      {{.expert = 1, .data = 1},
       {.expert = 8, .data = 8},
       {.expert = 64, .data = 64}},
      {{.pipeline = 1}, {.pipeline = 2}, {.pipeline = 5}, {.pipeline = 16}},
      {{.context = 1}, {.context = 2}, {.context = 4}}};
  for (const auto& series : kSeries) {
    for (size_t i = 1; i < series.size(); ++i) {
      const auto before = memory(series[i - 1]);
      const auto after = memory(series[i]);
      EXPECT_LE(after.weights, before.weights);
      EXPECT_LE(after.kv_cache, before.kv_cache);
      EXPECT_LE(after.needed() - after.communication,
                before.needed() - before.communication);
      EXPECT_GE(after.max_requests, before.max_requests);
    }
  }
}

}  // namespace
}  // namespace mansard::testing
