// What holds for every graph: the weights that one rank holds are the graph's
// parameters, and ranks' partial sums are added up before anything needs them
// whole.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/io/shipped.h"
#include "tests/reference/reference_graphs.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Op;
using model::OpKind;
using model::Part;

struct Case {
  std::string name;
  std::shared_ptr<const model::ModelGraph> graph;
};

// Stored as the toys are: two bytes an element, whatever the checkpoint has.
std::shared_ptr<const model::ModelGraph> StoredPlainly(
    model::ModelGraphSpec spec) {
  spec.native_precision = {};
  spec.formats = {};
  for (model::LayerKind& kind : spec.layer_kinds) kind.formats = {};
  return BuildGraph(std::move(spec));
}

// Toys, the reference's grid, and all shipped models.
std::vector<Case> AllGraphs() {
  std::vector<Case> cases;
  const auto add = [&cases](std::string name, model::ModelGraphSpec spec) {
    cases.push_back({std::move(name), BuildGraph(std::move(spec))});
  };
  add("tiny", TinyGraph());
  add("tiny moe", TinyMoeGraph());
  add("tiny latent", TinyLatentGraph());
  add("tiny streams", TinyStreamsGraph());
  add("tiny drafting", TinyDraftingGraph());
  add("tiny flows", TinyFlowsGraph());
  add("tiny latent experts", TinyLatentMoeGraph());
  for (NamedGraph& named : ReferenceGraphs()) {
    add(named.name, std::move(named.spec));
  }
  for (NamedGraph& named : ReferenceCrossGraphs()) {
    add(named.name, std::move(named.spec));
  }
  const auto shipped = model::LoadShippedData();
  EXPECT_TRUE(shipped.ok()) << shipped.status();
  if (!shipped.ok()) return cases;
  for (const auto& [id, graph] : shipped->graphs) {
    cases.push_back({id, StoredPlainly(graph->spec())});
  }
  return cases;
}

// Of every published file that the importer reads; none where the files are
// absent. Stored as the toys are.
std::vector<Case> PublishedGraphs() {
  const std::filesystem::path folder(MANSARD_SOURCE_DIR
                                     "/../shared/model_configs");
  std::vector<Case> cases;
  if (!std::filesystem::exists(folder)) return cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    model::Violations violations;
    const auto imported = model::ImportHuggingFaceConfig(text, violations);
    if (!imported.ok()) continue;
    cases.push_back(
        {entry.path().filename(), StoredPlainly(imported->graph.spec())});
  }
  return cases;
}

model::Target On(const Case& of, int tensor) {
  static const auto hardware = ToyHardware().Build();
  model::TargetSpec spec = TargetOn(of.graph, hardware, tensor);
  // Elements of two bytes, as the native format of the toys' vectors.
  spec.weights = spec.activations = model::Format::kBf16;
  return BuildTarget(spec);
}

// One decode that uses every module.
model::ForwardPass DraftingPass(const Case& of) {
  model::Violations violations;
  const int modules = of.graph->spec().mtp.modules;
  return *DecodePass(1, 3).WithDrafting({.draft_tokens = modules}, modules,
                                        violations);
}

bool IsFp32(const Op& op) {
  return op.kind == OpKind::kStreamMix ||
         op.part == Part::kMixerStreamWeights ||
         op.part == Part::kFeedForwardStreamWeights ||
         op.part == Part::kFinalStreamWeights;
}

model::OpList LowerOn(const model::Target& target,
                      const model::ForwardPass& pass) {
  return model::Lower(target.graph(), pass, target.layout(), target.formats(),
                      target.fusion());
}

void ExpectParametersHeld(const Case& of) {
  double held = 0, drafting = 0;
  for (const Op& op : LowerOn(On(of, 1), DraftingPass(of))) {
    (op.draft ? drafting : held) +=
        op.repeat * op.held.value() / (IsFp32(op) ? 4 : 2);
  }
  const auto parameters = static_cast<double>(of.graph->ParameterCount());
  EXPECT_EQ(held, parameters) << of.name << " by " << held - parameters;
  EXPECT_EQ(drafting, static_cast<double>(of.graph->MtpParameterCount()))
      << of.name;
}

TEST(Lint, OneRankHoldsTheParameters) {
  for (const Case& of : AllGraphs()) ExpectParametersHeld(of);
}

// The same whether the pass has prompts, decodes, or an encoder's positions.
TEST(Lint, WhatIsHeldDoesNotDependOnThePass) {
  for (const Case& of : AllGraphs()) {
    std::vector<model::ForwardPass> passes = ReferencePasses();
    for (const model::ForwardPass& pass : ReferenceEncoderPasses()) {
      passes.push_back(pass);
    }
    for (const model::ForwardPass& pass : passes) {
      double held = 0;
      for (const Op& op : LowerOn(On(of, 1), pass)) {
        held += op.repeat * op.held.value() / (IsFp32(op) ? 4 : 2);
      }
      const auto parameters = static_cast<double>(of.graph->ParameterCount());
      EXPECT_EQ(held, parameters) << of.name << " by " << held - parameters;
    }
  }
}

// Where partial sums of the ranks come from, and what adds them up.
bool MakesPartialSums(Part part) {
  switch (part) {
    case Part::kOutputProj:
    case Part::kRecurrentOutputProj:
    case Part::kDownProj:
    case Part::kExpertDown:
    case Part::kSharedDown:
      return true;
    default:
      return false;
  }
}

bool AddsThemUp(Part part) {
  return part == Part::kAttentionAllReduce ||
         part == Part::kFeedForwardAllReduce;
}

// Of the hidden size or of what comes back to it. Norms of a mixer's own heads
// are over values that one rank has.
bool NeedsWholeSums(const Op& op) {
  switch (op.part) {
    case Part::kInputNorm:
    case Part::kAttentionNorm:
    case Part::kAttentionPostNorm:
    case Part::kAttentionResidual:
    case Part::kMixerStreamMerge:
    case Part::kFeedForwardNorm:
    case Part::kLatentNorm:
    case Part::kExpertOutputNorm:
    case Part::kSharedOutputNorm:
    case Part::kFeedForwardPostNorm:
    case Part::kFeedForwardResidual:
    case Part::kFeedForwardStreamMerge:
    case Part::kLayerGateProj:
    case Part::kDraftNorms:
    case Part::kFinalNorm:
    case Part::kFinalStreamWeights:
    case Part::kHeadProj:
    case Part::kHead:
      return true;
    default:
      return false;
  }
}

// How many ops made partial sums.
int ExpectPartialSumsAddedUp(const Case& of, int tensor) {
  int checked = 0;
  bool partial = false;
  for (const Op& op : LowerOn(On(of, tensor), DraftingPass(of))) {
    EXPECT_FALSE(partial && NeedsWholeSums(op))
        << of.name << ": " << OpName(op, *of.graph);
    if (MakesPartialSums(op.part)) {
      partial = true;
      ++checked;
    }
    if (AddsThemUp(op.part)) partial = false;
  }
  EXPECT_FALSE(partial) << of.name;
  return checked;
}

bool Divides(int tensor, const Case& of) {
  static const auto hardware = ToyHardware().Build();
  model::Violations violations;
  return model::Target::Create(TargetOn(of.graph, hardware, tensor), violations)
      .ok();
}

TEST(Lint, PartialSumsAreAddedUpBeforeTheyAreUsed) {
  int checked = 0;
  for (const Case& of : AllGraphs()) {
    for (int tensor : {2, 4}) {
      if (Divides(tensor, of)) checked += ExpectPartialSumsAddedUp(of, tensor);
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(Lint, PublishedModels) {
  const std::vector<Case> published = PublishedGraphs();
  if (published.empty()) GTEST_SKIP() << "no ../shared/model_configs";
  int reduced = 0;
  for (const Case& of : published) {
    ExpectParametersHeld(of);
    for (int tensor : {2, 8}) {
      if (!Divides(tensor, of)) continue;
      ExpectPartialSumsAddedUp(of, tensor);
      ++reduced;
    }
  }
  EXPECT_GT(reduced, 0);
  RecordProperty("published", static_cast<int>(published.size()));
}

// Ranks together hold what is shared once, and what is replicated once each.
TEST(Lint, RanksHoldNoLessThanTheirShare) {
  for (const Case& of : AllGraphs()) {
    if (!Divides(2, of)) continue;
    const auto held = [&](int tensor) {
      double sum = 0;
      for (const Op& op : LowerOn(On(of, tensor), DraftingPass(of))) {
        sum += op.repeat * op.held.value();
      }
      return sum;
    };
    EXPECT_GE(held(2) * 2, held(1)) << of.name;
    EXPECT_LT(held(2), held(1)) << of.name;
  }
}

}  // namespace
}  // namespace mansard::testing
