// What physics demands of experts, latent attention, chunks and parallel
// layers: published shapes and toys, on round and on shipped hardware.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/properties/checks.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/published_recurrent.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Estimate;
using model::ForwardPass;
using model::ModelGraphSpec;
using model::Role;
using model::Seconds;
using model::StateRule;

using Hardware = std::shared_ptr<const model::HardwareProfile>;

struct NamedGraph {
  std::string name;
  std::shared_ptr<const model::ModelGraph> graph;
};

// Few layers of each: equal layers are one op.
ModelGraphSpec WithLayers(ModelGraphSpec spec, std::vector<int> layers) {
  spec.layer_kind_indexes = std::move(layers);
  return spec;
}

// Chunked and full layers in turn, parallel, with experts.
ModelGraphSpec ChunkedParallel() {
  ModelGraphSpec spec = Mixtral8x7b();
  spec.layer_kinds[0].parallel = true;
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "chunk";
  GroupedOf(spec.layer_kinds[1]).chunk = 512;
  spec.layer_kind_indexes = {1, 0, 1};
  return spec;
}

std::vector<NamedGraph> Graphs() {
  return {
      {"toy experts", BuildGraph(TinyMoeGraph())},
      {"toy latent", BuildGraph(TinyLatentGraph())},
      {"Mixtral", BuildGraph(WithLayers(Mixtral8x7b(), {0, 0}))},
      {"DeepSeek", BuildGraph(WithLayers(DeepSeekV3(), {0, 1, 1}))},
      {"chunked, parallel", BuildGraph(ChunkedParallel())},
      {"toy lightning", BuildGraph(TinyRecurrentGraph(StateRule::kDecay))},
      {"toy gated delta",
       BuildGraph(TinyRecurrentGraph(StateRule::kGatedDelta))},
      {"toy key-gated delta",
       BuildGraph(TinyRecurrentGraph(StateRule::kKeyGatedDelta))},
      {"toy Mamba", BuildGraph(TinyRecurrentGraph(StateRule::kMamba))},
      {"toy Mamba 2", BuildGraph(TinyRecurrentGraph(StateRule::kMamba2))},
      {"toy Mamba 2 beside attention", BuildGraph(TinySideBySideGraph())},
      {"toy Mamba 2 alone", BuildGraph(TinyPureMambaGraph())},
      {"Qwen3-Next", BuildGraph(WithLayers(Qwen3Next80b(), {0, 0, 0, 1}))},
      {"Falcon-H1", BuildGraph(WithLayers(FalconH1_7b(), {0, 0}))},
      {"Jamba", BuildGraph(WithLayers(Jamba15Mini(), {0, 1, 0, 2}))},
      {"MiniMax", BuildGraph(WithLayers(MiniMaxText01(), {0, 0, 1}))},
      {"toy streams", BuildGraph(TinyStreamsGraph())},
      {"toy drafting", BuildGraph(TinyDraftingGraph())},
      {"toy flows", BuildGraph(TinyFlowsGraph())},
      {"toy latent experts", BuildGraph(TinyLatentMoeGraph())},
      {"sparse", BuildGraph(WithLayers(DeepSeekV32Attention(), {0, 0}))},
      {"compressed",
       BuildGraph(WithLayers(DeepSeekV4FlashAttention(), {0, 1, 2}))},
      {"sinks", BuildGraph(WithLayers(GptOss20bAttention(), {0, 1}))},
      {"values from keys", BuildGraph(WithLayers(Gemma4Attention(), {0, 1}))},
      {"cross-attention",
       BuildGraph(WithLayers(LlamaVisionAttention(), {0, 1, 0}))},
  };
}

std::vector<std::pair<std::string, Hardware>> Devices() {
  static const auto* const kShipped = [] {
    auto data = model::LoadShippedData();
    if (!data.ok()) std::abort();
    return new model::ShippedData(*std::move(data));
  }();
  return {{"toy", ToyHardware().Build()},
          {"h100-sxm", kShipped->profiles.at("h100-sxm")},
          {"mi300x", kShipped->profiles.at("mi300x")}};
}

std::vector<ForwardPass> Passes() {
  std::vector<ForwardPass> passes;
  for (int64_t batch : {1, 3, 64, 700}) {
    for (int64_t context : {1, 127, 4096, 40000}) {
      passes.push_back(DecodePass(batch, context));
    }
  }
  for (int64_t tokens : {1, 100, 2048, 16384}) {
    passes.push_back(PrefillPass(1, tokens));
    passes.push_back(BuildPass({{Role::kPrefill, 3, tokens, 700}}));
  }
  passes.push_back(BuildPass({{Role::kPrefill, 1, 512, 1024},
                              {Role::kDecode, 32, 1, 3000},
                              {Role::kDecode, 4, 4, 100}}));
  // With positions of an encoder.
  passes.push_back(BuildPass({{Role::kPrefill, 2, 512, 0, 6404},
                              {Role::kDecode, 32, 1, 3000, 1601},
                              {Role::kDecode, 4, 4, 100}}));
  return passes;
}

// With two drafts where the model can and the pass decodes.
ForwardPass Drafting(const ForwardPass& pass, const model::ModelGraph& graph) {
  const int modules = graph.spec().mtp.modules;
  if (modules == 0 || pass.phase() == model::Phase::kPrefill) return pass;
  model::Violations violations;
  return *pass.WithDrafting({.draft_tokens = 2}, modules, violations);
}

void ForAll(const std::function<void(const model::Target&, const ForwardPass&)>&
                check) {
  for (const NamedGraph& named : Graphs()) {
    for (const auto& [device, hardware] : Devices()) {
      for (int tensor : {1, 2, 4}) {
        for (bool unfused : {false, true}) {
          model::TargetSpec spec = TargetOn(named.graph, hardware, tensor);
          spec.unfused_attention = unfused;
          const model::Target target = BuildTarget(spec);
          const std::vector<ForwardPass> passes = Passes();
          for (size_t i = 0; i < passes.size(); ++i) {
            SCOPED_TRACE(::testing::Message()
                         << named.name << " on " << device << " tp " << tensor
                         << (unfused ? " unfused" : "") << " pass " << i);
            check(target, Drafting(passes[i], *named.graph));
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(KindProperties, FloorOverlappedEstimateSerialAreInOrder) {
  ForAll([](const model::Target& target, const ForwardPass& pass) {
    ExpectInOrder(EstimatePass(target, pass), target.graph());
  });
}

TEST(KindProperties, AttributionAndWaterfallSumToTheStep) {
  ForAll([](const model::Target& target, const ForwardPass& pass) {
    ExpectSumsToTheStep(EstimatePass(target, pass));
  });
}

TEST(KindProperties, MonotoneInBatchContextAndTokens) {
  struct Series {
    const char* what;
    std::function<ForwardPass(int64_t)> pass;
  };
  const Series kSeries[] = {
      {"batch", [](int64_t n) { return DecodePass(n, 1000); }},
      {"context", [](int64_t n) { return DecodePass(4, n); }},
      {"prompt", [](int64_t n) { return PrefillPass(1, n); }},
      {"mixed prompt",
       [](int64_t n) {
         return BuildPass(
             {{Role::kPrefill, 1, n, 0}, {Role::kDecode, 16, 1, 2000}});
       }},
      {"drafts",
       [](int64_t n) {
         return BuildPass({{Role::kDecode, 2, n, 100}});
       }},
      {"encoder positions",
       [](int64_t n) {
         return BuildPass({{Role::kDecode, 8, 1, 1000, n}});
       }},
      {"prefixes with equal chunk positions",
       [](int64_t n) {
         return BuildPass({{Role::kPrefill, 2, 60, 512 * n}});
       }},
  };
  for (const NamedGraph& named : Graphs()) {
    for (const auto& [device, hardware] : Devices()) {
      const model::Target target = BuildTarget(TargetOn(named.graph, hardware));
      for (const Series& series : kSeries) {
        Times last{};
        for (int64_t size = 1; size < 1900; size += 1 + size / 7) {
          const Times now = TimesOf(target, series.pass(size));
          EXPECT_GE(now.floor, last.floor * (1 - kRounding))
              << named.name << " on " << device << ", " << series.what << " "
              << size;
          EXPECT_GE(now.estimate, last.estimate * (1 - kRounding))
              << named.name << " on " << device << ", " << series.what << " "
              << size;
          last = now;
        }
      }
    }
  }
}

TEST(KindProperties, BetterHardwareIsNeverSlower) {
  using Change = std::function<void(ToyHardware&)>;
  const std::pair<const char*, Change> kChanges[] = {
      {"HBM bandwidth",
       [](ToyHardware& toy) { toy.device.hbm.bandwidth->value *= 1.3; }},
      {"tensor peak",
       [](ToyHardware& toy) {
         for (auto& rate : toy.device.tensor_rates) {
           if (rate.has_value()) rate->value *= 1.3;
         }
       }},
      {"special-function peak",
       [](ToyHardware& toy) {
         toy.device.special_function_rate->value *= 1.3;
       }},
      {"link",
       [](ToyHardware& toy) {
         toy.fabric.links[0].bandwidth.value *= 2;
         toy.stack.collectives[static_cast<size_t>(model::LinkTier::kNvlink)]
             ->lines[0]
             .bus *= 2;
       }},
  };
  for (const auto& [what, change] : kChanges) {
    ToyHardware better;
    change(better);
    const Hardware slow = ToyHardware().Build();
    const Hardware fast = better.Build();
    for (const NamedGraph& named : Graphs()) {
      for (int tensor : {1, 4}) {
        const model::Target before =
            BuildTarget(TargetOn(named.graph, slow, tensor));
        const model::Target after =
            BuildTarget(TargetOn(named.graph, fast, tensor));
        for (const ForwardPass& pass : Passes()) {
          const Times slower = TimesOf(before, pass);
          const Times faster = TimesOf(after, pass);
          EXPECT_LE(faster.floor, slower.floor) << what << ", " << named.name;
          EXPECT_LE(faster.estimate, slower.estimate * (1 + kRounding))
              << what << ", " << named.name;
        }
      }
    }
  }
}

TEST(KindProperties, DoublingLayersDoublesLayerTime) {
  const auto layer_time = [](ModelGraphSpec spec, size_t layers,
                             const ForwardPass& pass) {
    const int kind = static_cast<int>(spec.layer_kinds.size()) - 1;
    spec.layer_kind_indexes.assign(layers, kind);
    const Estimate estimate = EstimatePass(
        BuildTarget(TargetOn(BuildGraph(spec), ToyHardware().Build(), 2)),
        pass);
    Seconds total;
    for (size_t i = 0; i < estimate.ops.size(); ++i) {
      // The first layer's norm stands outside its kind: a mixer's, or a
      // feed-forward's where there is no mixer.
      if (estimate.ops[i].part == model::Part::kAttentionNorm) continue;
      if (estimate.ops[i].part == model::Part::kFeedForwardNorm) continue;
      if (estimate.ops[i].layer_kind < 0) continue;
      total += estimate.ops[i].repeat * estimate.times[i].estimate;
    }
    return total.value();
  };
  for (const NamedGraph& named : Graphs()) {
    for (const ForwardPass& pass : Passes()) {
      ExpectSame(layer_time(named.graph->spec(), 6, pass),
                 2 * layer_time(named.graph->spec(), 3, pass),
                 named.name.c_str());
    }
  }
}

// One touched expert costs less than all; a dense layer as wide as all experts
// costs at least as much.
TEST(KindProperties, ExpertsCostNoMoreThanTheDenseLayerTheyMakeUp) {
  const Hardware hardware = ToyHardware().Build();
  const auto weights_and_flops = [&](const ModelGraphSpec& spec,
                                     const ForwardPass& pass) {
    double weights = 0, flops = 0;
    for (const model::Op& op :
         EstimatePass(BuildTarget(TargetOn(BuildGraph(spec), hardware)), pass)
             .ops) {
      if (op.part == model::Part::kRouter) continue;
      weights += op.repeat * op.work.weights.value();
      flops += op.repeat * op.work.tensor.value();
    }
    return std::pair(weights, flops);
  };
  ModelGraphSpec dense = Mixtral8x7b();
  dense.layer_kinds[0].feed_forward =
      model::DenseFeedForward{.intermediate_size = 8 * 14336};
  for (const ForwardPass& pass : Passes()) {
    const auto sparse = weights_and_flops(Mixtral8x7b(), pass);
    const auto full = weights_and_flops(dense, pass);
    EXPECT_LE(sparse.first, full.first * (1 + kRounding));
    EXPECT_LT(sparse.second, full.second);
  }
}

}  // namespace
}  // namespace mansard::testing
