// Ridge points and crossovers on round numbers: 1e15 FLOP/s, 1e12 B/s.

#include "model/estimate/roofline.h"

#include "gtest/gtest.h"
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
using mansard::testing::ToyHardware;

struct Explained {
  Target target;
  Estimate estimate;
  Roofline roofline;
};

Explained Explain(const ToyHardware& toy, const ModelGraphSpec& graph,
                  const ForwardPass& pass,
                  RooflineLevel level = RooflineLevel::kHbm) {
  Target target = BuildTarget(TargetOn(BuildGraph(graph), toy.Build()));
  Estimate estimate = EstimatePass(target, pass);
  Roofline roofline =
      *ExplainRoofline(target, pass, estimate, level, [] { return true; });
  return {std::move(target), std::move(estimate), std::move(roofline)};
}

const RooflineCeiling& CeilingOf(const Roofline& roofline, const char* label,
                                 bool calibrated) {
  for (const RooflineCeiling& ceiling : roofline.ceilings) {
    if (ceiling.label == label && ceiling.calibrated == calibrated) {
      return ceiling;
    }
  }
  ADD_FAILURE() << "no ceiling " << label;
  return roofline.ceilings.front();
}

ModelGraphSpec WideGraph() {
  ModelGraphSpec graph = TinyGraph();
  graph.hidden_size = 65536;
  graph.vocabulary_size = 65536;
  DenseOf(graph.layer_kinds[0]).intermediate_size = 65536;
  graph.max_context = 1'000'000;
  return graph;
}

TEST(Roofline, CeilingsOfDatasheetAndStack) {
  ToyHardware toy;
  toy.stack.gemm[0].peak_fraction = 0.8;
  toy.stack.gemm[0].hbm_fraction = 0.5;
  const Roofline roofline =
      Explain(toy, TinyGraph(), DecodePass(1, 10)).roofline;
  EXPECT_EQ(CeilingOf(roofline, "tensor bf16", false).rate->value(), 1e15);
  EXPECT_NEAR(CeilingOf(roofline, "tensor bf16", false).ridge.value(), 1000,
              1e-9);
  EXPECT_NEAR(CeilingOf(roofline, "tensor bf16", true).ridge.value(), 1600,
              1e-9);
  EXPECT_NEAR(CeilingOf(roofline, "vector fp32", false).ridge.value(), 100,
              1e-9);
  EXPECT_EQ(CeilingOf(roofline, "hbm", true).bandwidth->value(), 0.5e12);
  EXPECT_EQ(CeilingOf(roofline, "l2 effective feed", true).bandwidth->value(),
            1e13);
}

TEST(Roofline, RidgesAreOfTheLevel) {
  const Roofline roofline =
      Explain(ToyHardware(), TinyGraph(), DecodePass(1, 10), RooflineLevel::kL2)
          .roofline;
  // No source gives the toy's L2 bandwidth; the stack's feed is 1e13.
  EXPECT_EQ(CeilingOf(roofline, "tensor bf16", false).ridge.value(), 0);
  EXPECT_NEAR(CeilingOf(roofline, "tensor bf16", true).ridge.value(), 100,
              1e-9);
}

TEST(Roofline, PointsAreTheOpsAndTheirSharesAddUp) {
  const Explained e = Explain(ToyHardware(), WideGraph(), DecodePass(8, 10));
  EXPECT_EQ(e.roofline.points.size() + 1, e.estimate.ops.size());  // The host.
  double shares = 0;
  for (const RooflinePoint& point : e.roofline.points) {
    shares += point.time_ratio;
    EXPECT_LE(point.achieved.value(), 1.1e15);
    if (e.estimate.ops[point.op].part == Part::kUpProj) {
      // Eight rows: 8 FLOP per byte of weights of two bytes; activations stay
      // in L2.
      EXPECT_NEAR(point.intensity.value(), 8, 1e-9);
    }
  }
  EXPECT_NEAR(shares, 1, 1e-9);
}

TEST(Roofline, CriticalTokensOfAGemm) {
  ToyHardware toy;
  toy.stack.gemm[0].peak_fraction = 0.5;
  const Explained e = Explain(toy, WideGraph(), DecodePass(1, 10));
  int found = 0;
  for (const RooflineCrossover& flip : e.roofline.crossovers) {
    if (!flip.op.has_value() ||
        e.estimate.ops[*flip.op].part != Part::kUpProj) {
      continue;
    }
    ++found;
    EXPECT_EQ(flip.axis, RooflineAxis::kTokens);
    // [m, 2^16] x [2^17, 2^16]: 2 m n k / 1e15 against what HBM carries at
    // 1e12, weights and, beyond 50e6 B (127 rows), activations of
    // 2 m (n + k) B: m > 1000 / (1 - 1000 (1/n + 1/k)), twice at half the rate.
    const double n = 131072;
    const double k = 65536;
    const double ratio = flip.calibrated ? 500 : 1000;
    EXPECT_EQ(static_cast<double>(flip.value),
              std::floor(ratio / (1 - ratio * (1 / n + 1 / k))) + 1)
        << flip.calibrated;
  }
  EXPECT_EQ(found, 2);
}

TEST(Roofline, ContextAtWhichKeysAndValuesOvertakeWeights) {
  const Explained e = Explain(ToyHardware(), WideGraph(), DecodePass(1, 10));
  double weights = 0;
  for (const Op& op : e.estimate.ops) {
    weights += op.repeat * op.work.weights.value();
  }
  // Two layers of 2 KV heads of size 6: 96 B a token.
  bool found = false;
  for (const RooflineCrossover& flip : e.roofline.crossovers) {
    if (flip.axis != RooflineAxis::kContext) continue;
    found = true;
    EXPECT_EQ(static_cast<double>(flip.value), std::floor(weights / 96) + 1);
  }
  EXPECT_TRUE(found);
}

TEST(Roofline, BatchAtWhichTheStepFlips) {
  ToyHardware toy;
  toy.stack.gemm[0].l2_feed = GigabytesPerSecond(1e6);
  const Explained e = Explain(toy, WideGraph(), DecodePass(1, 10));
  int64_t flip_at = 0;
  for (const RooflineCrossover& flip : e.roofline.crossovers) {
    if (flip.axis != RooflineAxis::kBatch) continue;
    EXPECT_TRUE(flip.calibrated);
    if (flip.from == "memory" && flip.to == "compute") flip_at = flip.value;
  }
  ASSERT_GT(flip_at, 1);
  const auto bound_at = [&](int64_t batch) {
    return EstimatePass(e.target, DecodePass(batch, 10)).phase.bound;
  };
  EXPECT_EQ(bound_at(flip_at - 1), Bound::kMemory);
  EXPECT_EQ(bound_at(flip_at), Bound::kCompute);
}

// Two rows of a drafting pass where a plain one has one, and the module's own
// weights and cache: the searched passes draft as the given one does.
TEST(Roofline, SearchedPassesDraftToo) {
  constexpr int64_t kLongest = 2'000'000'000;
  ModelGraphSpec graph = WideGraph();
  graph.mtp = {.modules = 1, .layer_kind_indexes = {0}};
  const auto drafting = [](int64_t requests, int64_t context) {
    Violations violations;
    return *BuildPass({{Role::kDecode, requests, 2, context - 2}}, kLongest)
                .WithDrafting({.draft_tokens = 2}, 1, violations);
  };
  ToyHardware toy;
  toy.stack.gemm[0].l2_feed = GigabytesPerSecond(1e6);
  const Explained e = Explain(toy, graph, drafting(1, 10));
  const auto weights_and_cache = [&](const ForwardPass& pass) {
    std::pair<double, double> sums;
    for (const Op& op : EstimatePass(e.target, pass).ops) {
      sums.first += op.repeat * op.work.weights.value();
      sums.second += op.repeat * op.work.kv_read.value();
    }
    return sums;
  };
  int64_t context = 0, batch = 0;
  for (const RooflineCrossover& flip : e.roofline.crossovers) {
    if (flip.axis == RooflineAxis::kContext) context = flip.value;
    if (flip.axis == RooflineAxis::kBatch && flip.to == "compute") {
      batch = flip.value;
    }
  }
  ASSERT_GT(context, 10);
  const auto before = weights_and_cache(drafting(1, context - 1));
  const auto at = weights_and_cache(drafting(1, context));
  EXPECT_LE(before.second, before.first);
  EXPECT_GT(at.second, at.first);
  // The module's two runs read as much cache as the two layers together.
  const auto plain = weights_and_cache(
      BuildPass({{Role::kDecode, 1, 2, context - 2}}, kLongest));
  EXPECT_NEAR(at.second / plain.second, 2, 0.01);
  ASSERT_GT(batch, 1);
  const auto bound_at = [&](int64_t requests) {
    return EstimatePass(e.target, drafting(requests, 10)).phase.bound;
  };
  EXPECT_EQ(bound_at(batch - 1), Bound::kMemory);
  EXPECT_EQ(bound_at(batch), Bound::kCompute);
}

// Positions of an encoder are cached beside the text's.
TEST(Roofline, SearchedPassesSeeTheEncoder) {
  ModelGraphSpec graph = TinyGraph();
  graph.layer_kinds.push_back(graph.layer_kinds[0]);
  graph.layer_kinds[1].name = "cross";
  graph.layer_kinds[1].attention = CrossAttention{4, 2, 6};
  graph.layer_kind_indexes = {0, 1};
  const auto flip_of = [&](int64_t encoder_tokens) {
    const Explained e =
        Explain(ToyHardware(), graph,
                BuildPass({{Role::kDecode, 1, 1, 9, encoder_tokens}}));
    for (const RooflineCrossover& flip : e.roofline.crossovers) {
      if (flip.axis == RooflineAxis::kContext) return flip.value;
    }
    return int64_t{0};
  };
  // As many positions fewer of the text, both 48 B each.
  EXPECT_EQ(flip_of(1) - flip_of(21), 20);
}

TEST(Roofline, ExpertsOfADraftAreTheLayersOwn) {
  ModelGraphSpec graph = TinyDraftingGraph();
  graph.hidden_size = 65536;
  std::get<MixtureOfExperts>(graph.layer_kinds[1].feed_forward)
      .expert_intermediate_size = 65536;
  Violations violations;
  // The first run is over the six new tokens of the decodes, not over the
  // prompt's: two of four experts a token in both runs.
  const ForwardPass pass =
      *BuildPass({{Role::kPrefill, 1, 50, 0}, {Role::kDecode, 3, 2, 20}})
           .WithDrafting({.draft_tokens = 2}, 1, violations);
  const Explained e = Explain(ToyHardware(), graph, pass);
  std::vector<int64_t> values;
  for (const RooflineCrossover& flip : e.roofline.crossovers) {
    if (!flip.op.has_value() || flip.calibrated) continue;
    const Op& op = e.estimate.ops[*flip.op];
    if (op.draft && op.part == Part::kExpertUp) values.push_back(flip.value);
  }
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0], values[1]);
}

// It is asked some tens of times, and not again once it says no.
TEST(Roofline, StopsWhenTold) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(WideGraph()), ToyHardware().Build()));
  const ForwardPass pass = DecodePass(1, 10);
  const Estimate estimate = EstimatePass(target, pass);
  int asked = 0;
  const auto explain = [&](int answers) {
    asked = 0;
    return ExplainRoofline(target, pass, estimate, RooflineLevel::kHbm,
                           [&asked, answers] { return ++asked <= answers; });
  };
  EXPECT_TRUE(explain(1'000'000).has_value());
  const int whole = asked;
  EXPECT_GT(whole, 30);
  for (int answers : {0, 1, whole / 2, whole - 1}) {
    EXPECT_FALSE(explain(answers).has_value()) << answers;
    EXPECT_EQ(asked, answers + 1);
  }
  EXPECT_TRUE(explain(whole).has_value());
}

TEST(Roofline, PrefillsHaveNoContextOrBatchAxis) {
  const Explained e = Explain(ToyHardware(), WideGraph(), PrefillPass(1, 10));
  EXPECT_FALSE(e.roofline.crossovers.empty());
  for (const RooflineCrossover& flip : e.roofline.crossovers) {
    EXPECT_EQ(flip.axis, RooflineAxis::kTokens);
  }
}

}  // namespace
}  // namespace mansard::model
