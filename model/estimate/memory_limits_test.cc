// Pages, and how many requests of how many tokens fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/published_attention.h"
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
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::TinyGraph;
using mansard::testing::TinyLatentGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::TinyPureMambaGraph;
using mansard::testing::TinyRecurrentGraph;
using mansard::testing::ToyHardware;

// Blocks of `block` tokens and nothing else, or with small reserves.
EngineMemory Engine(int64_t block, bool unified = false) {
  return {.block_tokens = block, .unified_pages = unified};
}
EngineMemory Reserving() {
  return {.usable_fraction = 0.9,
          .framework = Bytes::Of(500),
          .communication = Bytes::Of(300),
          .token_budget = 10,
          .sequence_limit = 3,
          .bytes_per_logit = 5,
          .fixed_workspace = Bytes::Of(700),
          .block_tokens = 4,
          .unified_pages = true};
}

TargetSpec On(const ModelGraphSpec& graph, const EngineMemory& engine,
              double capacity = 80e9, int tensor = 1) {
  ToyHardware toy;
  toy.device.hbm.capacity.value = Bytes::Of(capacity);
  toy.stack.memory = engine;
  return TargetOn(BuildGraph(graph), toy.Build(), tensor);
}

MemoryFootprint Footprint(const TargetSpec& spec, const ForwardPass& pass) {
  return EstimatePass(BuildTarget(spec), pass).memory;
}

// TinyGraph: two layers of 2 x 2 x 6 elements of two bytes a token.
constexpr double kTinyToken = 2 * 48;

ModelGraphSpec TinyWindows(int64_t window) {
  ModelGraphSpec graph = TinyGraph();
  GroupedOf(graph.layer_kinds[0]).sliding_window = window;
  return graph;
}

double PagedTokens(const ModelGraphSpec& graph, int64_t block,
                   int64_t context) {
  const MemoryFootprint memory =
      Footprint(On(graph, Engine(block)), DecodePass(1, context));
  return (memory.kv_cache + memory.paging).value() / kTinyToken;
}

TEST(Paging, LastBlocksAreWhole) {
  EXPECT_EQ(PagedTokens(TinyGraph(), 1, 33), 33);
  EXPECT_EQ(PagedTokens(TinyGraph(), 16, 32), 32);
  EXPECT_EQ(PagedTokens(TinyGraph(), 16, 33), 48);
  EXPECT_EQ(PagedTokens(TinyGraph(), 16, 1), 16);
}

// A window of 32 starts anywhere in a block: it touches three of 16.
TEST(Paging, FullWindowsTouchOneBlockMore) {
  EXPECT_EQ(PagedTokens(TinyWindows(32), 16, 20), 32);
  EXPECT_EQ(PagedTokens(TinyWindows(32), 16, 32), 32);
  EXPECT_EQ(PagedTokens(TinyWindows(32), 16, 33), 48);
  EXPECT_EQ(PagedTokens(TinyWindows(32), 16, 900), 48);
  // One position is in one block, two may be in two.
  EXPECT_EQ(PagedTokens(TinyWindows(1), 16, 900), 16);
  EXPECT_EQ(PagedTokens(TinyWindows(2), 16, 900), 32);
}

// Two mixers with a state of 4 x 3 x 2 and three inputs of 20 channels, bf16:
// 168 bytes a layer; one attention layer of 48 bytes a token. Blocks of two
// tokens, 96 bytes, grow to four so that a page of 192 holds a state.
TEST(Paging, UnifiedPagesHoldAState) {
  const ModelGraphSpec graph = TinyRecurrentGraph(StateRule::kMamba2);
  const MemoryFootprint plain =
      Footprint(On(graph, Engine(2)), DecodePass(3, 5));
  EXPECT_EQ(plain.state.value(), 3 * 2 * 168);
  EXPECT_EQ(plain.paging.value(), 3 * 48);  // A sixth token each.
  EXPECT_EQ(plain.block_tokens, 2);
  const MemoryFootprint unified =
      Footprint(On(graph, Engine(2, true)), DecodePass(3, 5));
  EXPECT_EQ(unified.state, plain.state);
  EXPECT_EQ(unified.kv_cache, plain.kv_cache);
  EXPECT_EQ(unified.block_tokens, 4);
  EXPECT_EQ((unified.kv_cache + unified.state + unified.paging).value(),
            3 * (2 * 192 + 2 * 192));
}

// A layer with half the KV heads has twice the tokens in a page.
TEST(Paging, NarrowLayersHaveMoreTokensInAUnifiedPage) {
  ModelGraphSpec graph = TinyGraph();
  graph.layer_kinds.push_back(graph.layer_kinds[0]);
  graph.layer_kinds[1].name = "narrow";
  GroupedOf(graph.layer_kinds[1]).kv_heads = 1;
  graph.layer_kind_indexes = {0, 1};
  const MemoryFootprint memory =
      Footprint(On(graph, Engine(16, true)), DecodePass(1, 33));
  // 3 blocks of 16 and 2 of 32, all of 768 bytes.
  EXPECT_EQ((memory.kv_cache + memory.paging).value(), 5 * 768);
  EXPECT_EQ(memory.block_tokens, 32);
}

TEST(Paging, IsNeverLessThanWhatIsHeld) {
  for (const ModelGraphSpec& graph :
       {TinyGraph(), TinyWindows(7), TinyLatentGraph(), TinyDraftingGraph(),
        TinyRecurrentGraph(StateRule::kGatedDelta), TinyPureMambaGraph(),
        mansard::testing::DeepSeekV32Attention(),
        mansard::testing::DeepSeekV4FlashAttention(),
        mansard::testing::Gemma4Attention(),
        mansard::testing::LlamaVisionAttention()}) {
    for (int64_t context : {1, 2, 15, 16, 17, 100, 900}) {
      for (bool unified : {false, true}) {
        const ForwardPass pass =
            BuildPass({{Role::kDecode, 3, 1, context - 1, 0},
                       {Role::kPrefill, 1, context, 0, 0}});
        const TargetSpec spec = On(graph, Engine(16, unified));
        const MemoryFootprint paged = Footprint(spec, pass);
        CacheBytes layers;
        for (const LayerMemory& layer : paged.layers) layers += layer.pass;
        EXPECT_GE(layers.paged, layers.total());
        EXPECT_EQ(layers.cache + layers.indexer + paged.draft_kv_cache,
                  paged.kv_cache);
        const MemoryFootprint exact = Footprint(On(graph, Engine(1)), pass);
        EXPECT_EQ(exact.kv_cache, paged.kv_cache);
        EXPECT_EQ(exact.state, paged.state);
        EXPECT_LE(exact.paging, paged.paging);
        EXPECT_GE(exact.kv_token_capacity, paged.kv_token_capacity);
      }
    }
  }
}

// A decode reads all that is cached of a request, new token included.
TEST(MemoryAndTime, CountTheSameCache) {
  for (const ModelGraphSpec& graph :
       {TinyGraph(), TinyMoeGraph(), TinyLatentGraph(),
        mansard::testing::DeepSeekV3(), mansard::testing::Mixtral8x7b()}) {
    for (Format kv : {Format::kBf16, Format::kFp8E4m3}) {
      for (int tensor : {1, 2, 4}) {
        TargetSpec spec = On(graph, Engine(1), 80e9, tensor);
        spec.kv_cache = kv;
        for (int64_t context : {1, 100, 999}) {
          const Estimate estimate =
              EstimatePass(BuildTarget(spec), DecodePass(7, context));
          Bytes read;
          for (const Op& op : estimate.ops) {
            read += op.repeat * op.work.kv_read;
          }
          EXPECT_EQ(read, estimate.memory.kv_cache);
        }
      }
    }
  }
}

struct Room {
  const char* name;
  ModelGraphSpec graph;
  double capacity;
};
std::vector<Room> Rooms() {
  return {{"plain", TinyGraph(), 60e3},
          {"windows", TinyWindows(7), 40e3},
          {"latent", TinyLatentGraph(), 40e3},
          {"experts", TinyMoeGraph(), 60e3},
          {"hybrid", TinyRecurrentGraph(StateRule::kMamba2), 40e3},
          {"no cache", TinyPureMambaGraph(), 30e3},
          {"nothing fits", TinyGraph(), 9e3}};
}

TEST(MemoryLimits, AreThoseOfAScan) {
  for (const Room& room : Rooms()) {
    SCOPED_TRACE(room.name);
    ModelGraphSpec graph = room.graph;
    graph.max_context = 400;
    for (int tensor : {1, 2}) {
      const TargetSpec spec =
          On(graph, Reserving(), room.capacity / tensor, tensor);
      int64_t most = 0;
      while (Footprint(spec, DecodePass(most + 1, 50)).fits) ++most;
      int64_t longest = 0;
      for (int64_t context = 1; context <= graph.max_context; ++context) {
        if (Footprint(spec, DecodePass(5, context)).fits) longest = context;
      }
      EXPECT_EQ(Footprint(spec, DecodePass(5, 50)).max_requests, most);
      EXPECT_EQ(Footprint(spec, DecodePass(5, 50)).max_context, longest);
      // The pass's own size says nothing, while it is within the limits.
      EXPECT_EQ(Footprint(spec, DecodePass(1, 50)).max_requests, most);
      EXPECT_EQ(Footprint(spec, DecodePass(5, 399)).max_context, longest);
    }
  }
}

TEST(MemoryLimits, OfPromptsCountTheirWorkspace) {
  const TargetSpec spec = On(TinyGraph(), Reserving(), 60e3);
  int64_t most = 0;
  while (Footprint(spec, PrefillPass(most + 1, 20)).fits) ++most;
  EXPECT_GT(most, 1);
  EXPECT_EQ(Footprint(spec, PrefillPass(1, 20)).max_requests, most);
  // Decodes of as many tokens need less.
  EXPECT_GT(Footprint(spec, DecodePass(1, 20)).max_requests, most);
}

// The largest group's; the context is every group's.
TEST(MemoryLimits, OfPassesOfTwoGroups) {
  const TargetSpec spec = On(TinyGraph(), Engine(4), 60e3);
  const MemoryFootprint mixed = Footprint(
      spec, BuildPass({{Role::kDecode, 2, 1, 9}, {Role::kDecode, 3, 1, 49}}));
  EXPECT_EQ(mixed.max_requests,
            Footprint(spec, DecodePass(1, 50)).max_requests);
  EXPECT_EQ(mixed.max_context, Footprint(spec, DecodePass(5, 50)).max_context);
}

TEST(MemoryLimits, EndAtTheModelsContextAndAPassesRequests) {
  const TargetSpec spec = On(TinyGraph(), Engine(16));
  const MemoryFootprint memory = Footprint(spec, DecodePass(1, 10));
  EXPECT_EQ(memory.max_context, 1000);
  EXPECT_EQ(memory.max_requests, ForwardPass::kMaxRequests);
}

// Requests of whole blocks fill the capacity, within the engine's limits; one
// block more does not fit.
TEST(MemoryLimits, TokenCapacityIsWhereItEnds) {
  for (const ModelGraphSpec& graph :
       {TinyGraph(), TinyLatentGraph(), TinyMoeGraph()}) {
    for (int tensor : {1, 2, 4}) {
      for (double capacity : {60e3, 61e3, 62.1e3}) {
        ModelGraphSpec longer = graph;
        longer.max_context = 100'000;
        EngineMemory engine = Engine(16);
        engine.token_budget = engine.sequence_limit = 100;
        const TargetSpec spec = On(longer, engine, capacity, tensor);
        const int64_t tokens =
            Footprint(spec, DecodePass(1, 1)).kv_token_capacity;
        ASSERT_GT(tokens, 16);
        EXPECT_EQ(tokens % 16, 0);
        EXPECT_TRUE(Footprint(spec, DecodePass(1, tokens)).fits);
        EXPECT_TRUE(Footprint(spec, DecodePass(tokens / 16, 16)).fits);
        EXPECT_FALSE(Footprint(spec, DecodePass(1, tokens + 1)).fits);
        EXPECT_FALSE(Footprint(spec, DecodePass(tokens / 16 + 1, 16)).fits);
      }
    }
  }
}

TEST(MemoryLimits, WithoutRoomAreZeroAndSayWhy) {
  const auto reason = [](double capacity, const EngineMemory& engine) {
    const MemoryFootprint memory =
        Footprint(On(TinyGraph(), engine, capacity), DecodePass(1, 1));
    EXPECT_EQ(memory.kv_token_capacity, 0);
    EXPECT_GE(memory.kv_budget(), Bytes::Zero());
    return std::string(NoTokenReason(memory));
  };
  const double weights =
      Footprint(On(TinyGraph(), Engine(16)), DecodePass(1, 1)).weights.value();
  EXPECT_EQ(reason(weights - 1, Engine(16)),
            "the weights alone exceed the budget");
  EngineMemory reserving = Engine(16);
  reserving.framework = Bytes::Of(2000);
  EXPECT_EQ(reason(weights + 1999, reserving),
            "weights, workspace and reserve leave nothing of the budget");
  EXPECT_EQ(reason(weights + 16 * kTinyToken - 1, Engine(16)),
            "what is left is less than one block of tokens");
  EXPECT_EQ(NoTokenReason(Footprint(On(TinyPureMambaGraph(), Engine(16)),
                                    DecodePass(1, 1))),
            "no layer's cache grows with the tokens");
  const TargetSpec hybrid =
      On(TinyRecurrentGraph(StateRule::kMamba2), Engine(16), 100e3);
  EXPECT_EQ(NoTokenReason(Footprint(hybrid, DecodePass(300, 1))),
            "the states of the pass leave nothing of the budget");
  EXPECT_EQ(NoTokenReason(Footprint(hybrid, DecodePass(1, 1))), "");
}

TEST(Memory, GrowsWithBatchAndContextAndShrinksWithRanks) {
  for (const Room& room : Rooms()) {
    SCOPED_TRACE(room.name);
    const TargetSpec spec = On(room.graph, Reserving(), room.capacity);
    Bytes before;
    for (int64_t requests : {1, 2, 3, 7, 50, 51}) {
      const Bytes needed = Footprint(spec, DecodePass(requests, 20)).needed();
      EXPECT_GT(needed, before);
      before = needed;
    }
    before = Bytes::Zero();
    for (int64_t context = 1; context < 60; ++context) {
      const Bytes needed = Footprint(spec, DecodePass(2, context)).needed();
      EXPECT_GE(needed, before);
      before = needed;
    }
    before = Bytes::Infinity();
    for (int tensor : {1, 2, 4}) {
      EngineMemory engine = Reserving();
      engine.communication = Bytes::Zero();
      const Bytes needed =
          Footprint(On(room.graph, engine, 80e9, tensor), DecodePass(2, 20))
              .needed();
      EXPECT_LT(needed, before);
      before = needed;
    }
  }
}

// Published bytes a token; of DeepSeek-V3 the same on every rank.
TEST(Memory, PublishedBytesAToken) {
  const auto shipped = LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const struct {
    const char* model;
    int tensor;
    Format kv;
    double bytes;
  } kCases[] = {{"deepseek-v3", 1, Format::kBf16, 70272},
                {"deepseek-v3", 8, Format::kBf16, 70272},
                {"deepseek-v3", 8, Format::kFp8E4m3, 35136},
                {"qwen3-32b", 1, Format::kBf16, 262144},
                {"qwen3-32b", 8, Format::kBf16, 32768},
                {"llama-3.1-405b", 1, Format::kBf16, 516096},
                {"llama-3.1-405b", 2, Format::kBf16, 258048},
                {"mistral-small-3.2-24b", 1, Format::kBf16, 163840}};
  for (const auto& c : kCases) {
    TargetSpec spec =
        TargetOn(shipped->graphs.at(c.model), ToyHardware().Build(), c.tensor);
    spec.kv_cache = c.kv;
    // Weights of 8 bits would need activations that the toys lack.
    spec.weights = spec.activations = Format::kBf16;
    const MemoryFootprint memory = Footprint(spec, DecodePass(3, 1000));
    EXPECT_EQ(memory.kv_cache.value(), 3 * 1000 * c.bytes) << c.model;
    double per_token = 0;
    for (const LayerMemory& layer : memory.layers) {
      per_token += layer.per_token.value();
    }
    EXPECT_EQ(per_token, c.bytes) << c.model;
  }
}

// Index keys are apart, and on every rank: 61 x 128 beside 61 x 576.
TEST(Memory, IndexKeysAreAPartOfTheCache) {
  for (int tensor : {1, 8}) {
    const MemoryFootprint memory =
        Footprint(TargetOn(BuildGraph(mansard::testing::DeepSeekV32Attention()),
                           ToyHardware().Build(), tensor),
                  DecodePass(2, 1000));
    EXPECT_EQ(memory.indexer.value(), 2 * 1000 * 61 * 128 * 2.0);
    EXPECT_EQ(memory.kv_cache.value(), 2 * 1000 * 61 * (576 + 128) * 2.0);
  }
}

// A module keeps a cache of its own, of one layer, of decodes alone; a module
// that is run again has seen the drafts before.
TEST(Memory, DraftingModulesHaveACache) {
  const TargetSpec spec = On(TinyDraftingGraph(), Engine(1));
  const auto drafting = [&](int drafts) {
    Violations violations;
    const auto pass =
        BuildPass(
            {{Role::kDecode, 3, 1 + drafts, 9}, {Role::kPrefill, 1, 6, 0}})
            .WithDrafting({.draft_tokens = drafts}, 1, violations);
    return Footprint(spec, *pass);
  };
  EXPECT_EQ(drafting(0).draft_kv_cache, Bytes::Zero());
  EXPECT_EQ(drafting(0).weights_by_class.drafting, Bytes::Zero());
  EXPECT_EQ(drafting(1).draft_kv_cache.value(), 3 * 11 * 48);
  EXPECT_EQ(drafting(2).draft_kv_cache.value(), 3 * (12 + 1) * 48);
  EXPECT_EQ(drafting(2).kv_cache.value(),
            (3 * 12 + 6) * kTinyToken + 3 * 13 * 48);
  EXPECT_GT(drafting(1).weights_by_class.drafting, Bytes::Zero());
  EXPECT_EQ(drafting(2).weights, drafting(1).weights);
}

TEST(Memory, OtherWeightsAreWholeOnEveryRank) {
  ModelGraphSpec graph = TinyGraph();
  graph.other_weight_bytes = 12345;
  for (int tensor : {1, 2}) {
    const MemoryFootprint with =
        Footprint(On(graph, Engine(1), 80e9, tensor), DecodePass(1, 1));
    const MemoryFootprint without =
        Footprint(On(TinyGraph(), Engine(1), 80e9, tensor), DecodePass(1, 1));
    EXPECT_EQ(with.other_weights.value(), 12345);
    EXPECT_EQ(with.needed() - without.needed(), with.other_weights);
    EXPECT_EQ(with.weights, without.weights);
  }
}

TEST(MemoryChoice, IsWhatTheStackWouldHaveSaid) {
  EngineMemory said = Reserving();
  said.usable_fraction = 0.5;
  said.token_budget = 40;
  said.sequence_limit = 7;
  said.block_tokens = 8;
  TargetSpec chosen = On(TinyGraph(), Reserving(), 1e6);
  chosen.memory = {.usable_fraction = 0.5,
                   .token_budget = 40,
                   .sequence_limit = 7,
                   .block_tokens = 8};
  const ForwardPass pass = DecodePass(1, 1);
  const MemoryFootprint expected = Footprint(On(TinyGraph(), said, 1e6), pass);
  const MemoryFootprint memory = Footprint(chosen, pass);
  EXPECT_EQ(memory.budget, Bytes::Of(5e5));
  EXPECT_EQ(memory.workspace, expected.workspace);
  EXPECT_EQ(memory.kv_token_capacity, expected.kv_token_capacity);
  EXPECT_EQ(memory.max_requests, expected.max_requests);
  EXPECT_NE(
      memory.kv_token_capacity,
      Footprint(On(TinyGraph(), Reserving(), 1e6), pass).kv_token_capacity);
}

TEST(MemoryChoice, BrokenRulesAreOfTheLimits) {
  TargetSpec chosen = On(TinyGraph(), Reserving());
  chosen.memory.usable_fraction = 0;
  Violations violations;
  EXPECT_FALSE(Target::Create(chosen, violations).ok());
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].field, "limits.memory_utilization_ratio");
}

}  // namespace
}  // namespace mansard::model
