// The scalar path against the whole estimate: the same bits, no allocation.

#include "model/estimate/step_time.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "model/io/shipped.h"
#include "tests/support/allocations.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::Allocations;
using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::DeepSeekV3;
using mansard::testing::LlamaVisionAttention;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::TinyGraph;
using mansard::testing::TinyLatentGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    auto data = LoadShippedData();
    if (!data.ok()) std::abort();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

std::vector<ForwardPass> Passes() {
  std::vector<ForwardPass> passes;
  for (int64_t batch : {1, 7, 300}) {
    for (int64_t context : {1, 1000, 100000}) {
      passes.push_back(DecodePass(batch, context));
    }
  }
  for (int64_t tokens : {1, 333, 8192})
    passes.push_back(PrefillPass(2, tokens));
  passes.push_back(BuildPass({{Role::kPrefill, 1, 512, 1024},
                              {Role::kDecode, 32, 1, 3000},
                              {Role::kDecode, 4, 4, 100}}));
  return passes;
}

// The target in formats the device computes in; empty where it has none.
std::optional<Target> Computable(
    const std::shared_ptr<const ModelGraph>& graph,
    const std::shared_ptr<const HardwareProfile>& hardware, int tensor) {
  for (Format format : {Format::kBf16, Format::kFp16, Format::kFp32}) {
    TargetSpec spec = TargetOn(graph, hardware, tensor);
    spec.weights = spec.activations = spec.kv_cache = format;
    Violations violations;
    absl::StatusOr<Target> target = Target::Create(spec, violations);
    if (target.ok()) return *std::move(target);
  }
  return std::nullopt;
}

// One timer for all: what a call leaves behind must not show in the next.
TEST(StepTimer, IsTheWholeEstimatesTimeOnShippedDevicesAndModels) {
  StepTimer timer;
  int compared = 0;
  // Every 13th device, another set for each model.
  size_t pair = 0;
  for (const auto& [graph_id, graph] : Shipped().graphs) {
    ++pair;
    for (const auto& [device_id, hardware] : Shipped().profiles) {
      if (++pair % 13 != 0) continue;
      for (int tensor : {1, 2, 8}) {
        const std::optional<Target> target =
            Computable(graph, hardware, tensor);
        if (!target.has_value()) continue;
        for (const ForwardPass& pass : Passes()) {
          ++compared;
          ASSERT_EQ(timer.Estimate(*target, pass).value(),
                    EstimatePass(*target, pass).phase.estimate.value())
              << graph_id << " on " << device_id << " tp " << tensor << ", "
              << pass.total_new_tokens() << " tokens";
        }
      }
    }
  }
  EXPECT_GT(compared, 4000);
}

// With a host that launches every kernel, whether the device hides it or not,
// and with narrow weights and activations.
TEST(StepTimer, IsTheWholeEstimatesTimeWithHostCostsAndNarrowFormats) {
  StepTimer timer;
  for (const double launch : {0.01, 4.0, 1000.0}) {
    ToyHardware toy;
    toy.stack.host.cuda_graphs = false;
    toy.stack.host.eager_launch = Microseconds(launch);
    toy.stack.host.step = Microseconds(7);
    toy.stack.host.request = Microseconds(0.3);
    const auto hardware = toy.Build();
    for (const ModelGraphSpec& graph :
         {TinyGraph(), TinyMoeGraph(), TinyLatentGraph()}) {
      for (const Format format : {Format::kBf16, Format::kFp8E4m3}) {
        TargetSpec spec = TargetOn(BuildGraph(graph), hardware, 2);
        spec.weights = spec.activations = format;
        const Target target = BuildTarget(spec);
        for (const ForwardPass& pass : Passes()) {
          ASSERT_EQ(timer.Estimate(target, pass).value(),
                    EstimatePass(target, pass).phase.estimate.value())
              << launch << " us a launch";
        }
      }
    }
  }
}

TEST(StepTimer, IsTheWholeEstimatesTimeWithDraftingAndAnEncoder) {
  StepTimer timer;
  ToyHardware toy;
  toy.stack.host.cuda_graphs = false;
  toy.stack.host.eager_launch = Microseconds(4);
  const Target drafts =
      BuildTarget(TargetOn(BuildGraph(TinyDraftingGraph()), toy.Build(), 2));
  const ForwardPass plain =
      BuildPass({{Role::kPrefill, 1, 512, 100}, {Role::kDecode, 3, 3, 20}});
  Seconds last = timer.Estimate(drafts, plain);
  for (int draft_tokens : {1, 2, 5}) {
    Violations violations;
    const auto pass =
        plain.WithDrafting({.draft_tokens = draft_tokens}, 1, violations);
    const Seconds now = timer.Estimate(drafts, *pass);
    EXPECT_EQ(now.value(), EstimatePass(drafts, *pass).phase.estimate.value());
    EXPECT_GT(now, last) << draft_tokens;
    last = now;
  }
  const Target vision =
      BuildTarget(TargetOn(BuildGraph(LlamaVisionAttention()), toy.Build(), 2));
  for (int64_t encoder_tokens : {0, 1601}) {
    for (const Role role : {Role::kPrefill, Role::kDecode}) {
      const ForwardPass pass = BuildPass(
          {{role, 2, role == Role::kDecode ? 1 : 64, 0, encoder_tokens}});
      EXPECT_EQ(timer.Estimate(vision, pass).value(),
                EstimatePass(vision, pass).phase.estimate.value());
    }
  }
}

TEST(StepTimer, AllocatesNothingOnceItHasSeenSuchAPass) {
  const Target large =
      BuildTarget(TargetOn(BuildGraph(DeepSeekV3()), ToyHardware().Build(), 8));
  const Target small =
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build()));
  const std::vector<ForwardPass> passes = Passes();
  StepTimer timer;
  for (const ForwardPass& pass : passes) timer.Estimate(large, pass);

  const int64_t before = Allocations();
  for (const ForwardPass& pass : passes) {
    timer.Estimate(large, pass);
    timer.Estimate(small, pass);
  }
  EXPECT_EQ(Allocations() - before, 0);
}

TEST(StepTimer, PassesOfTwoGroupsNeedNoMemory) {
  const int64_t before = Allocations();
  Violations violations;
  const auto pass = ForwardPass::Create(
      {{Role::kPrefill, 1, 512, 1024}, {Role::kDecode, 32, 1, 3000}}, 8192,
      violations);
  const int64_t after = Allocations();
  EXPECT_TRUE(pass.has_value());
  EXPECT_EQ(after - before, 0);
}

// That the count counts.
TEST(StepTimer, TheFirstCallAllocates) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build()));
  const ForwardPass pass = DecodePass(1, 10);
  StepTimer timer;
  const int64_t before = Allocations();
  timer.Estimate(target, pass);
  EXPECT_GT(Allocations() - before, 0);
}

}  // namespace
}  // namespace mansard::model
