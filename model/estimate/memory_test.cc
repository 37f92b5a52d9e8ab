#include "model/estimate/memory.h"

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;

MemoryFootprint Footprint(const TargetSpec& spec, const ForwardPass& pass) {
  return EstimatePass(BuildTarget(spec), pass).memory;
}

TEST(Memory, HoldsEveryParameterOnce) {
  for (bool tied : {false, true}) {
    ModelGraphSpec graph = TinyGraph();
    graph.tied_embeddings = tied;
    graph.layer_kinds[0].attention.qkv_bias = true;
    graph.layer_kinds[0].attention.qk_norm = true;
    const auto built = BuildGraph(graph);
    const MemoryFootprint footprint =
        Footprint(TargetOn(built, ToyHardware().Build()), DecodePass(1, 10));
    EXPECT_EQ(footprint.weights.value(),
              2.0 * static_cast<double>(built->ParameterCount()));
  }
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
  graph.layer_kinds[0].attention.sliding_window = 7;
  TargetSpec spec = TargetOn(BuildGraph(graph), ToyHardware().Build());
  EXPECT_EQ(Footprint(spec, DecodePass(3, 100)).kv_cache.value(),
            3 * 2 * 7 * 2.0 * 2 * 6 * 2);
  spec.kv_cache = Format::kFp8E4m3;
  EXPECT_EQ(Footprint(spec, DecodePass(3, 100)).kv_cache.value(),
            3 * 2 * 7 * 2.0 * 2 * 6);
}

}  // namespace
}  // namespace mansard::model
