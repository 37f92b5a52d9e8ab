#include "model/estimate/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "model/io/shipped.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using ::testing::HasSubstr;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    auto data = LoadShippedData();
    if (!data.ok()) std::abort();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

std::vector<std::shared_ptr<const HardwareProfile>> AllProfiles() {
  std::vector<std::shared_ptr<const HardwareProfile>> all;
  for (const auto& [id, profile] : Shipped().profiles) all.push_back(profile);
  return all;
}

TargetSpec SpecOf(const std::string& model, const std::string& hardware,
                  int tensor) {
  return TargetOn(Shipped().graphs.at(model), Shipped().profiles.at(hardware),
                  tensor);
}

WhatIfChoices Choices() {
  WhatIfChoices choices;
  choices.devices = {Shipped().profiles.at("b200-sxm")};
  for (const auto& [id, fabric] : Shipped().fabrics) {
    choices.fabrics.push_back(&fabric);
  }
  return choices;
}

std::vector<WhatIf> AnswerOf(const TargetSpec& spec, const ForwardPass& pass,
                             const WhatIfChoices& choices) {
  const Target target = BuildTarget(spec);
  return WhatIfsOf(target, pass, EstimatePass(target, pass), choices);
}

const WhatIf& Find(const std::vector<WhatIf>& all, const std::string& kind,
                   const std::string& value) {
  for (const WhatIf& one : all) {
    if (one.kind == kind && one.value == value) return one;
  }
  ADD_FAILURE() << kind << " " << value;
  return all.front();
}

void ExpectAsDirect(const WhatIf& what_if, const TargetSpec& direct,
                    const ForwardPass& pass) {
  const Estimate estimate = EstimatePass(BuildTarget(direct), pass);
  SCOPED_TRACE(what_if.kind + " " + what_if.value);
  EXPECT_EQ(what_if.reason, "");
  EXPECT_EQ(what_if.time, estimate.phase.estimate);
  EXPECT_EQ(what_if.per_token.value(),
            1 / estimate.phase.output_tokens_per_second);
  EXPECT_EQ(what_if.needed, estimate.memory.needed());
  EXPECT_EQ(what_if.fits, estimate.memory.fits);
}

TEST(WhatIf, EqualsADirectEstimateOfTheChange) {
  const TargetSpec spec = SpecOf("llama-3.1-70b", "h100-sxm", 4);
  const ForwardPass pass = DecodePass(32, 4096);
  const auto all = AnswerOf(spec, pass, Choices());

  TargetSpec changed = spec;
  changed.weights = changed.activations = Format::kFp8E4m3;
  ExpectAsDirect(Find(all, "weights", "fp8-e4m3"), changed, pass);
  changed = spec;
  changed.kv_cache = Format::kFp8E4m3;
  ExpectAsDirect(Find(all, "kv_cache", "fp8-e4m3"), changed, pass);
  ExpectAsDirect(Find(all, "request_count", "64"), spec, DecodePass(64, 4096));
  for (const int size : {2, 8}) {
    changed = spec;
    changed.parallelism.tensor = size;
    ExpectAsDirect(Find(all, "tensor_size", std::to_string(size)), changed,
                   pass);
  }
  changed = spec;
  changed.residual_into_norm = false;
  ExpectAsDirect(Find(all, "residual_into_norm", "off"), changed, pass);
  changed = spec;
  changed.unfused_attention = true;
  ExpectAsDirect(Find(all, "flash_attention", "off"), changed, pass);
  changed = spec;
  changed.cuda_graphs = false;
  ExpectAsDirect(Find(all, "cuda_graphs", "off"), changed, pass);
  changed = spec;
  changed.overlap = Overlap{};
  ExpectAsDirect(Find(all, "overlap", "two-batch"), changed, pass);
  changed.overlap->kind = Overlap::Kind::kGemm;
  ExpectAsDirect(Find(all, "overlap", "gemm"), changed, pass);
  ExpectAsDirect(Find(all, "hardware", "b200-sxm"),
                 SpecOf("llama-3.1-70b", "b200-sxm", 4), pass);
}

// 8 prompts of 4,096 tokens of which 1,024 are new; 32 decodes.
TEST(WhatIf, RecomputesWhatIsCached) {
  const TargetSpec spec = SpecOf("llama-3.1-70b", "h100-sxm", 4);
  const RequestGroup decodes{Role::kDecode, 32, 1, 4095};
  const ForwardPass pass =
      BuildPass({{Role::kPrefill, 8, 1024, 3072}, decodes});
  const auto all = AnswerOf(spec, pass, Choices());
  ExpectAsDirect(Find(all, "recompute", "prompts"), spec,
                 BuildPass({{Role::kPrefill, 8, 4096, 0}, decodes}));
  ExpectAsDirect(Find(all, "recompute", "decodes"), spec,
                 BuildPass({{Role::kPrefill, 8, 1024, 3072},
                            {Role::kPrefill, 32, 4096, 0}}));
  EXPECT_LT(Find(all, "recompute", "prompts").saved, Seconds::Zero());
  const auto fresh = AnswerOf(spec, PrefillPass(2, 100), Choices());
  EXPECT_THAT(Find(fresh, "recompute", "prompts").reason,
              HasSubstr("no prompts have earlier tokens"));
}

TEST(WhatIf, TilesAreForcedOnAllProducts) {
  TargetSpec spec = SpecOf("llama-3.1-70b", "h100-sxm", 4);
  const ForwardPass pass = DecodePass(256, 1000);
  EXPECT_NE(
      Find(AnswerOf(spec, pass, Choices()), "gemm_tile", "another").reason, "");
  spec.stack = spec.hardware->FindStack("vllm-0.24");
  ASSERT_NE(spec.stack, nullptr);
  std::vector<WhatIf> tiles;
  for (const WhatIf& one : AnswerOf(spec, pass, Choices())) {
    if (one.kind == "gemm_tile") tiles.push_back(one);
  }
  ASSERT_GE(tiles.size(), 3);
  ASSERT_LE(tiles.size(), 4);
  // No tile suits all products as well as each one's own.
  for (const WhatIf& tile : tiles) {
    EXPECT_LE(tile.saved, Seconds::Zero()) << tile.value;
    TargetSpec forced = spec;
    GemmTile size;
    ASSERT_EQ(
        std::sscanf(tile.value.c_str(), "%dx%d", &size.rows, &size.columns), 2);
    forced.gemm_tile = size;
    ExpectAsDirect(tile, forced, pass);
  }
  // No other tile is faster than the first.
  const auto& families = spec.stack->spec().fine.plain_gemm;
  for (const GemmTile& other :
       families.For(static_cast<size_t>(Format::kBf16))->tiles) {
    TargetSpec forced = spec;
    forced.gemm_tile = other;
    EXPECT_LE(tiles.front().time,
              EstimatePass(BuildTarget(forced), pass).phase.estimate);
  }
}

TEST(WhatIf, RanksByTimeSavedAToken) {
  const auto all = AnswerOf(SpecOf("llama-3.1-70b", "h100-sxm", 4),
                            DecodePass(32, 4096), Choices());
  bool possible = true;
  for (size_t i = 1; i < all.size(); ++i) {
    if (!all[i].reason.empty()) possible = false;
    EXPECT_EQ(all[i].reason.empty(), possible);
    if (possible) {
      EXPECT_GE(all[i - 1].saved, all[i].saved);
    }
  }
}

TEST(WhatIf, SaysWhyAChangeCannotBe) {
  const auto all = AnswerOf(SpecOf("llama-3.1-70b", "h100-sxm", 8),
                            DecodePass(1, 100), Choices());
  EXPECT_THAT(Find(all, "weights", "nvfp4").reason, HasSubstr("nvfp4"));
  EXPECT_THAT(Find(all, "overlap", "two-batch").reason,
              HasSubstr("two requests"));
  EXPECT_THAT(Find(all, "fabric", "faster network").reason,
              HasSubstr("nothing goes over the network"));
  const auto small = AnswerOf(SpecOf("llama-3.1-8b", "a100-sxm-80gb", 1),
                              DecodePass(1, 100), Choices());
  EXPECT_NE(Find(small, "weights", "fp8-e4m3").reason, "");
  EXPECT_NE(Find(small, "tensor_size", "1/2").reason, "");
}

TEST(WhatIf, ExpertsMoveToTheirRanksAndBack) {
  TargetSpec spec = SpecOf("mixtral-8x7b", "h100-sxm", 4);
  const ForwardPass pass = DecodePass(64, 1024);
  TargetSpec changed = spec;
  changed.parallelism.expert = 4;
  ExpectAsDirect(Find(AnswerOf(spec, pass, Choices()), "expert_size", "4"),
                 changed, pass);
  ExpectAsDirect(Find(AnswerOf(changed, pass, Choices()), "expert_size", "1"),
                 spec, pass);
}

TEST(WhatIf, TakesTheNextFasterNetwork) {
  TargetSpec spec = SpecOf("llama-3.1-70b", "h100-sxm", 16);
  spec.fabric = &Shipped().fabrics.at("hgx-nvlink4-200g");
  spec.parallelism.tensor = 8;
  spec.parallelism.pipeline = 2;
  spec.parallelism.nodes = 2;
  const ForwardPass pass = DecodePass(64, 1024);
  TargetSpec changed = spec;
  changed.fabric = &Shipped().fabrics.at("hgx-nvlink4-400g");
  ExpectAsDirect(
      Find(AnswerOf(spec, pass, Choices()), "fabric", "hgx-nvlink4-400g"),
      changed, pass);
  // What crosses the nodes takes half as long, and nothing else changes.
  const PhaseEstimate slow = EstimatePass(BuildTarget(spec), pass).phase;
  const PhaseEstimate fast = EstimatePass(BuildTarget(changed), pass).phase;
  const auto rdma = static_cast<size_t>(WaterfallRow::kRdma);
  EXPECT_GT(slow.waterfall[rdma].busy.value(), 0);
  EXPECT_NEAR(slow.waterfall[rdma].busy / fast.waterfall[rdma].busy, 2, 1e-9);
  EXPECT_LT(fast.estimate, slow.estimate);
}

TEST(WhatIf, CostsOnlyWithAPrice) {
  WhatIfChoices choices = Choices();
  choices.device_hour_prices["h100-sxm"] = 3.6;
  const Target target = BuildTarget(SpecOf("llama-3.1-70b", "h100-sxm", 4));
  const ForwardPass pass = DecodePass(32, 4096);
  const Estimate estimate = EstimatePass(target, pass);
  const WhatIf now = Baseline(target, estimate, choices);
  // Four devices at 0.1 cents a second, a million tokens.
  ASSERT_TRUE(now.cost.has_value());
  EXPECT_NEAR(*now.cost, 4e-3 * 1e6 * now.time.value() / 32, 1e-9);
  const auto all = WhatIfsOf(target, pass, estimate, choices);
  EXPECT_FALSE(Find(all, "hardware", "b200-sxm").cost.has_value());
  const WhatIf& wider = Find(all, "tensor_size", "8");
  EXPECT_EQ(wider.devices, 8);
  EXPECT_NEAR(*wider.cost / *now.cost, 2 * (wider.time / now.time), 1e-9);
}

TEST(NextDevice, IsOfTheVendorsNextGeneration) {
  for (const auto& [from, to] :
       {std::pair<const char*, const char*>{"a100-sxm-80gb", "h100-sxm"},
        {"h100-sxm", "b200-sxm"},
        {"h200-sxm", "b200-sxm"},
        {"mi300x", "mi355x"}}) {
    const auto next = NextDevice(*Shipped().profiles.at(from), AllProfiles());
    ASSERT_NE(next, nullptr) << from;
    EXPECT_EQ(next->id(), to) << from;
  }
  // The vendor's fastest of the newest.
  EXPECT_EQ(NextDevice(*Shipped().profiles.at("mi355x"), AllProfiles()),
            nullptr);
}

}  // namespace
}  // namespace mansard::model
