#include "model/estimate/memory.h"

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/published_recurrent.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::DeepSeekV3;
using mansard::testing::Mamba2_780m;
using mansard::testing::PrefillPass;
using mansard::testing::Qwen3Next80b;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::TinyLatentGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::TinyPureMambaGraph;
using mansard::testing::TinyRecurrentGraph;
using mansard::testing::TinySideBySideGraph;
using mansard::testing::ToyHardware;

MemoryFootprint Footprint(const TargetSpec& spec, const ForwardPass& pass) {
  return EstimatePass(BuildTarget(spec), pass).memory;
}

TEST(Memory, HoldsEveryParameterOnce) {
  for (bool tied : {false, true}) {
    ModelGraphSpec graph = TinyGraph();
    graph.tied_embeddings = tied;
    GroupedOf(graph.layer_kinds[0]).qkv_bias = true;
    GroupedOf(graph.layer_kinds[0]).qk_norm = QkNorm::kPerHead;
    const auto built = BuildGraph(graph);
    const MemoryFootprint footprint =
        Footprint(TargetOn(built, ToyHardware().Build()), DecodePass(1, 10));
    EXPECT_EQ(footprint.weights.value(),
              2.0 * static_cast<double>(built->ParameterCount()));
  }
}

TEST(Memory, HoldsEveryParameterOfExpertsAndLatentVectorsOnce) {
  const auto hardware = ToyHardware().Build();
  for (const ModelGraphSpec& spec :
       {TinyMoeGraph(), TinyLatentGraph(), DeepSeekV3(),
        mansard::testing::Mixtral8x7b()}) {
    const auto graph = BuildGraph(spec);
    EXPECT_EQ(
        Footprint(TargetOn(graph, hardware), DecodePass(1, 10)).weights.value(),
        2.0 * static_cast<double>(graph->ParameterCount()));
  }
}

// The expansion is used as such by prompts and absorbed by decodes; it is one
// tensor with one set of scales.
TEST(Memory, WeightsDoNotDependOnThePass) {
  for (const ModelGraphSpec& spec : {TinyLatentGraph(), TinyMoeGraph()}) {
    for (Format weights : {Format::kBf16, Format::kFp8E4m3, Format::kInt8,
                           Format::kMxfp4, Format::kFp8Block}) {
      TargetSpec target = TargetOn(BuildGraph(spec), ToyHardware().Build(), 2);
      target.weights = weights;
      const Bytes decode = Footprint(target, DecodePass(7, 10)).weights;
      EXPECT_EQ(Footprint(target, PrefillPass(1, 9)).weights, decode);
      EXPECT_EQ(Footprint(target, BuildPass({{Role::kPrefill, 1, 4, 2},
                                             {Role::kDecode, 2, 1, 6}}))
                    .weights,
                decode)
          << TraitsOf(weights).name;
    }
  }
}

TEST(Memory, HoldsEveryParameterOfRecurrentMixersOnce) {
  const auto hardware = ToyHardware().Build();
  for (const ModelGraphSpec& spec :
       {TinyRecurrentGraph(StateRule::kDecay),
        TinyRecurrentGraph(StateRule::kGatedDelta),
        TinyRecurrentGraph(StateRule::kKeyGatedDelta),
        TinyRecurrentGraph(StateRule::kMamba),
        TinyRecurrentGraph(StateRule::kMamba2), TinySideBySideGraph(),
        TinyPureMambaGraph(), Qwen3Next80b(), Mamba2_780m()}) {
    const auto graph = BuildGraph(spec);
    for (const ForwardPass& pass :
         {DecodePass(1, 10),
          BuildPass({{Role::kPrefill, 1, 4, 2}, {Role::kDecode, 2, 1, 6}})}) {
      EXPECT_EQ(Footprint(TargetOn(graph, hardware), pass).weights.value(),
                2.0 * static_cast<double>(graph->ParameterCount()));
    }
  }
}

// Layers x (state in fp32 + the last three inputs of each channel in bf16).
// The published figures keep four inputs, as their code does; three are enough.
TEST(Memory, PublishedStatesASequence) {
  const struct {
    ModelGraphSpec spec;
    double layers, state, channels, published;
  } kCases[] = {
      {Qwen3Next80b(), 36, 32 * 128 * 128, 2 * 2048 + 4096, 77856768},
      {mansard::testing::NemotronH56b(), 54, 256 * 64 * 256,
       256 * 64 + 2 * 8 * 256, 914817024},
      {mansard::testing::FalconH1_7b(), 44, 24 * 128 * 256, 3072 + 2 * 256,
       139673600},
      {mansard::testing::MiniMaxText01(), 70, 64 * 128 * 128, 0, 293601280},
      {mansard::testing::Jamba15Mini(), 28, 8192 * 16, 8192, 16515072},
      {Mamba2_780m(), 48, 48 * 64 * 128, 3072 + 2 * 128, 76775424},
  };
  for (const auto& c : kCases) {
    const TargetSpec spec = TargetOn(BuildGraph(c.spec), ToyHardware().Build());
    for (int64_t context : {1, 1000, 8000}) {
      const Bytes state = Footprint(spec, DecodePass(1, context)).state;
      EXPECT_EQ(state.value(), c.layers * (4 * c.state + 2 * 3 * c.channels));
      EXPECT_EQ(state.value() + c.layers * 2 * c.channels, c.published);
    }
    EXPECT_EQ(Footprint(spec, PrefillPass(7, 100)).state,
              7 * Footprint(spec, DecodePass(1, 1)).state);
  }
}

// Two mixers: 4 heads of 3 x 2 in bf16, 8 + 2 x 6 channels.
TEST(Memory, RanksShareStatesAndRepeatKeyHeads) {
  const auto graph = BuildGraph(TinyRecurrentGraph(StateRule::kMamba2));
  const auto state = [&](int tensor) {
    return Footprint(TargetOn(graph, ToyHardware().Build(), tensor),
                     DecodePass(5, 10))
        .state.value();
  };
  EXPECT_EQ(state(1), 5 * 2 * 2 * (24.0 + 3 * 20));
  EXPECT_EQ(state(2), 5 * 2 * 2 * (12.0 + 3 * 10));
  EXPECT_EQ(state(4), 5 * 2 * 2 * (6.0 + 3 * 8));
}

TEST(Memory, StatesTakeRoomFromTheCache) {
  ToyHardware toy;
  toy.device.hbm.capacity.value = Bytes::Of(100e3);
  const TargetSpec spec =
      TargetOn(BuildGraph(TinyRecurrentGraph(StateRule::kMamba2)), toy.Build());
  const MemoryFootprint one = Footprint(spec, DecodePass(1, 1));
  const MemoryFootprint many = Footprint(spec, DecodePass(200, 1));
  // One attention layer of 2 x 2 x 6 elements a token.
  EXPECT_EQ(one.kv_token_capacity,
            static_cast<int64_t>(
                (100e3 - one.weights.value() - one.state.value()) / 48));
  EXPECT_EQ(many.kv_token_capacity,
            static_cast<int64_t>(
                (100e3 - one.weights.value() - 200 * one.state.value()) / 48));
  EXPECT_TRUE(many.fits);
  const MemoryFootprint most = Footprint(spec, DecodePass(300, 1));
  EXPECT_FALSE(most.fits);
  EXPECT_LT(most.free(), Bytes::Zero());
}

// No cache grows: the context is no matter, the number of requests is.
TEST(Memory, PureMambaIsBoundByRequests) {
  const TargetSpec spec =
      TargetOn(BuildGraph(Mamba2_780m()), ToyHardware().Build());  // 80 GB.
  const MemoryFootprint one = Footprint(spec, DecodePass(1, 1'000'000));
  EXPECT_EQ(one.kv_cache, Bytes::Zero());
  EXPECT_EQ(one.kv_token_capacity, 0);
  EXPECT_TRUE(one.fits);
  const auto most =
      static_cast<int64_t>((80e9 - one.weights.value()) / one.state.value());
  EXPECT_TRUE(Footprint(spec, DecodePass(most, 10)).fits);
  EXPECT_FALSE(Footprint(spec, DecodePass(most + 1, 10)).fits);
}

// A rank of DeepSeek-V3: an eighth of heads, experts, embedding and head; all
// of the down-projections, routers and norms.
TEST(Memory, RanksShareHeadsAndExpertsAndRepeatTheRest) {
  const auto graph = BuildGraph(DeepSeekV3());
  const auto hardware = ToyHardware().Build();
  const double repeated = 61.0 * 7168 * (1536 + 512 + 64)  // Latent vectors,
                          + 58.0 * 7168 * 256              // routers,
                          + 61.0 * (2 * 7168 + 1536 + 512) + 7168;  // norms.
  for (int tensor : {1, 2, 8}) {
    const MemoryFootprint rank =
        Footprint(TargetOn(graph, hardware, tensor), DecodePass(4, 1000));
    EXPECT_EQ(rank.weights.value(),
              2 * ((671026404352.0 - repeated) / tensor + repeated));
    // 70,272 bytes a token on every rank: the cache is not shared out.
    EXPECT_EQ(rank.kv_cache.value(), 4 * 1000 * 70272.0);
    EXPECT_FALSE(rank.fits);
  }
}

TEST(Memory, LatentCacheBoundsTheCapacityOnEveryRankAlike) {
  const auto graph = BuildGraph(TinyLatentGraph());
  ToyHardware toy;
  toy.device.hbm.capacity.value = Bytes::Of(100e3);
  const auto hardware = toy.Build();
  for (int tensor : {1, 2, 4}) {
    const MemoryFootprint rank =
        Footprint(TargetOn(graph, hardware, tensor), DecodePass(1, 1));
    // Two layers of 6 + 2 elements of two bytes.
    EXPECT_EQ(rank.kv_cache.value(), 32);
    EXPECT_EQ(rank.kv_token_capacity,
              static_cast<int64_t>((100e3 - rank.weights.value()) / 32));
  }
}

TEST(Memory, ChunksBoundTheCache) {
  ModelGraphSpec graph = TinyGraph();
  graph.layer_kinds.push_back(graph.layer_kinds[0]);
  graph.layer_kinds[1].name = "chunk";
  GroupedOf(graph.layer_kinds[1]).chunk = 64;
  graph.layer_kind_indexes = {1, 0, 1, 1};
  const TargetSpec spec = TargetOn(BuildGraph(graph), ToyHardware().Build());
  const double position = 2.0 * 2 * 6 * 2;
  EXPECT_EQ(Footprint(spec, DecodePass(3, 100)).kv_cache.value(),
            3 * (100 + 3 * 64) * position);
  EXPECT_EQ(Footprint(spec, DecodePass(3, 50)).kv_cache.value(),
            3 * 4 * 50 * position);
}

TEST(Memory, Llama70bFitsOnFourToys) {
  const auto shipped = LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const auto graph = shipped->graphs.at("llama-3.1-70b");
  const auto hardware = ToyHardware().Build();  // 80 GB.
  const MemoryFootprint one =
      Footprint(TargetOn(graph, hardware, 1), DecodePass(1, 100));
  // 70,553,706,496 parameters of two bytes.
  EXPECT_EQ(one.weights.value(), 141107412992);
  EXPECT_FALSE(one.fits);
  EXPECT_LT(one.free(), Bytes::Zero());
  EXPECT_EQ(one.kv_token_capacity, 0);

  const MemoryFootprint four =
      Footprint(TargetOn(graph, hardware, 4), DecodePass(16, 4096));
  EXPECT_TRUE(four.fits);
  // Norms are on every rank, the rest is shared: 161 norms of 8192.
  EXPECT_EQ(four.weights.value(),
            (141107412992.0 - 161 * 8192 * 2) / 4 + 161 * 8192 * 2);
  // Two of eight KV heads a rank: 80 layers x 2 x 2 x 128 x 2 B a token.
  EXPECT_EQ(four.kv_cache.value(), 16.0 * 4096 * 81920);
  EXPECT_EQ(four.kv_token_capacity,
            static_cast<int64_t>((80e9 - four.weights.value()) / 81920));
}

TEST(Memory, SharedKvHeadsAreHeldByEachRank) {
  ModelGraphSpec graph = TinyGraph();  // 4 query heads, 2 KV heads of size 6.
  const auto built = BuildGraph(graph);
  const auto hardware = ToyHardware().Build();
  const auto kv = [&](int tensor) {
    return Footprint(TargetOn(built, hardware, tensor), DecodePass(1, 10))
        .kv_cache.value();
  };
  EXPECT_EQ(kv(1), 2 * 10 * 2.0 * 2 * 6 * 2);
  EXPECT_EQ(kv(2), kv(1) / 2);
  EXPECT_EQ(kv(4), kv(1) / 2);  // One head a rank at least.
}

TEST(Memory, WindowsAndFormatsBoundTheCache) {
  ModelGraphSpec graph = TinyGraph();
  GroupedOf(graph.layer_kinds[0]).sliding_window = 7;
  TargetSpec spec = TargetOn(BuildGraph(graph), ToyHardware().Build());
  EXPECT_EQ(Footprint(spec, DecodePass(3, 100)).kv_cache.value(),
            3 * 2 * 7 * 2.0 * 2 * 6 * 2);
  spec.kv_cache = Format::kFp8E4m3;
  EXPECT_EQ(Footprint(spec, DecodePass(3, 100)).kv_cache.value(),
            3 * 2 * 7 * 2.0 * 2 * 6);
}

}  // namespace
}  // namespace mansard::model
