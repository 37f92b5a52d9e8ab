// What holds of every layout: drawn at random, on models of every kind.

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

// The same of every calibrated stack, on a grid of layouts and of ways to send
// keys and values.
TEST(Layouts, CalibratedStacksKeepEveryPropertyToo) {
  const std::vector<std::shared_ptr<const model::ModelGraph>> kGraphs = {
      BuildGraph(DeepSeekV3()), BuildGraph(Mixtral8x7b()),
      Shipped().graphs.at("llama-3.1-70b")};
  Draws draws;
  model::StepTimer timer;
  int calibrated = 0, sent = 0;
  for (const auto& [id, hardware] : Shipped().profiles) {
    for (const model::KernelStack& stack : hardware->stacks()) {
      if (stack.spec().fine.plain_gemm.families().empty()) continue;
      for (int draw = 0; draw < 40; ++draw) {
        const auto& graph = kGraphs[static_cast<size_t>(draw) % kGraphs.size()];
        model::TargetSpec spec = TargetOn(graph, hardware);
        spec.stack = &stack;
        spec.parallelism = draws.Next();
        if (spec.parallelism.pipeline == 0) spec.parallelism.micro_batches = 0;
        if (draw % 4 != 0) {
          spec.kv_send = model::KvSend{.tier = model::LinkTier::kRdma,
                                       .layer_wise = draw % 2 == 0};
          if (draw % 3 == 0) spec.kv_send->nics = 1 + draw % 5;
        }
        model::Violations violations;
        const auto target = model::Target::Create(spec, violations);
        if (!target.ok()) continue;
        ++calibrated;
        SCOPED_TRACE(absl::StrCat(id, " ", stack.spec().id, " ",
                                  TextOf(target->layout())));
        for (const ForwardPass& pass : Passes()) {
          const model::Estimate estimate = EstimatePass(*target, pass);
          ExpectInOrder(estimate, *graph);
          ExpectTimesSumToTheStep(estimate);
          if (estimate.ops.back().part == model::Part::kKvTransfer) ++sent;
          EXPECT_EQ(timer.Estimate(*target, pass).value(),
                    estimate.phase.estimate.value());
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(calibrated, 100);
  EXPECT_GT(sent, 50);
}

// Whatever runs beside each other: no exposed time is negative, the rows add up
// to the step, and the ops to it and what is hidden.
void ExpectOverlapAddsUp(const model::Estimate& estimate) {
  const model::PhaseEstimate& phase = estimate.phase;
  double exposed = 0, bounds = 0, ops = 0;
  for (const model::WaterfallTier& row : phase.waterfall) {
    EXPECT_GE(row.exposed.value(), 0);
    exposed += row.exposed.value();
  }
  for (model::Seconds time : phase.bound_times) bounds += time.value();
  for (size_t i = 0; i < estimate.ops.size(); ++i) {
    ops += estimate.ops[i].repeat * estimate.times[i].estimate.value();
  }
  ExpectSame(exposed, phase.estimate.value(), "rows");
  ExpectSame(bounds, phase.estimate.value(), "bounds");
  ExpectSame(ops, (phase.estimate + phase.hidden).value(), "ops");
  EXPECT_GE(phase.hidden.value(), 0);
  EXPECT_LE(phase.floor, phase.overlapped * (1 + kRounding));
  EXPECT_LE(phase.overlapped, phase.estimate * (1 + kRounding));
  EXPECT_LE(phase.estimate, phase.serial * (1 + kRounding));
  EXPECT_LE(phase.p10, phase.estimate * (1 + kRounding));
  EXPECT_LE(phase.estimate, phase.p90 * (1 + kRounding));
}

TEST(Layouts, BothOverlapsKeepEveryProperty) {
  Draws draws;
  model::StepTimer timer;
  int hidden[2] = {0, 0};
  for (const char* id : {"h100-sxm", "b200-sxm", "mi300x"}) {
    const auto& hardware = Shipped().profiles.at(id);
    for (const auto& [name, graph] : Graphs()) {
      for (int draw = 0; draw < 40; ++draw) {
        model::TargetSpec spec = TargetOn(graph, hardware);
        spec.stack = &hardware->stacks()[static_cast<size_t>(draw) %
                                         hardware->stacks().size()];
        spec.parallelism = draws.Next();
        spec.parallelism.pipeline = spec.parallelism.micro_batches = 0;
        const auto kind = draw % 2 == 0 ? model::Overlap::Kind::kGemm
                                        : model::Overlap::Kind::kTwoBatch;
        spec.overlap = model::Overlap{0.25 * (draw % 5), draw % 3, kind};
        model::Violations violations;
        const auto target = model::Target::Create(spec, violations);
        if (!target.ok()) continue;
        SCOPED_TRACE(absl::StrCat(id, " ", name, " ", TextOf(target->layout()),
                                  " ", draw));
        spec.overlap.reset();
        const model::Target plain = BuildTarget(spec);
        for (const ForwardPass& pass : Passes()) {
          const model::Estimate estimate = EstimatePass(*target, pass);
          ExpectOverlapAddsUp(estimate);
          EXPECT_EQ(timer.Estimate(*target, pass).value(),
                    estimate.phase.estimate.value());
          const bool some = estimate.phase.hidden > model::Seconds::Zero();
          if (some) ++hidden[draw % 2];
          // Chunks are only taken where they gain.
          if (kind == model::Overlap::Kind::kGemm) {
            EXPECT_LE(
                estimate.phase.estimate,
                EstimatePass(plain, pass).phase.estimate * (1 + kRounding));
          }
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(hidden[0], 30);
  EXPECT_GT(hidden[1], 30);
}

// The latency of an all-reduce has a law of its own: it does not shrink with
// the ratio of bandwidths inside and between nodes. Sixteen ranks in two nodes
// take tens of microseconds for a small message, whatever the stack.
TEST(Layouts, SmallAllReducesAcrossNodesWaitForLatency) {
  for (const char* id : {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm"}) {
    const auto& hardware = Shipped().profiles.at(id);
    for (const model::KernelStack& stack : hardware->stacks()) {
      SCOPED_TRACE(absl::StrCat(id, " ", stack.spec().id));
      const model::Fabric& fabric = hardware->fabrics().front();
      const model::HardwareView view{hardware->device(), fabric, stack};
      const auto reduce = [&](double bytes) {
        return Price(
            model::AllReduceOp(
                {.ranks = 16, .tier = model::LinkTier::kRdma, .node_ranks = 8},
                model::Bytes::Of(bytes)),
            view);
      };
      const model::OpTime small = reduce(8192);
      EXPECT_GT(ToMicroseconds(small.estimate), 10);
      EXPECT_LT(ToMicroseconds(small.estimate), 100);
      EXPECT_EQ(small.limiting, model::Resource::kSync);
      // Twice the bytes take as long.
      EXPECT_LT(reduce(16384).estimate / small.estimate, 1.05);
    }
  }
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
