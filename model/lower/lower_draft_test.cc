// Drafting by a model's own modules: what is run, how often, and that it stands
// apart from the pass.

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/lower/lower.h"
#include "tests/toy/op_sums.h"
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
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::ToyHardware;

ForwardPass Drafting(const ForwardPass& pass, int drafts) {
  Violations violations;
  return *pass.WithDrafting({.draft_tokens = drafts}, 1, violations);
}

OpList OpsOf(const ModelGraphSpec& spec, const ForwardPass& pass,
             int tensor = 1) {
  return EstimatePass(BuildTarget(TargetOn(BuildGraph(spec),
                                           ToyHardware().Build(), tensor)),
                      pass)
      .ops;
}

OpList Drafts(const OpList& ops) {
  OpList drafts;
  for (const Op& op : ops) {
    if (op.draft) drafts.push_back(op);
  }
  return drafts;
}

// The module of DeepSeek-V3 has 11,610,067,968 parameters (the published
// layer's without its copies of the tables).
TEST(Draft, DeepSeekModuleIsHeldOnce) {
  ModelGraphSpec spec = DeepSeekV3();
  spec.mtp.modules = 1;
  spec.mtp.layer_kind_indexes = {1};
  for (int drafts : {1, 3}) {
    double held = 0;
    for (const Op& op :
         Drafts(OpsOf(spec, Drafting(DecodePass(1, 100), drafts)))) {
      held += op.repeat * op.held.value();
    }
    EXPECT_EQ(held, 2.0 * 11610067968);
  }
}

TEST(Draft, ThePassItselfDoesNotChange) {
  const ModelGraphSpec spec = TinyDraftingGraph();
  const auto graph = BuildGraph(spec);
  const OpList without = OpsOf(spec, DecodePass(3, 20), 2);
  const OpList with = OpsOf(spec, Drafting(DecodePass(3, 20), 2), 2);
  OpList pass;
  for (const Op& op : with) {
    if (!op.draft) pass.push_back(op);
  }
  EXPECT_EQ(DumpOps(pass, *graph), DumpOps(without, *graph));
  EXPECT_TRUE(Drafts(without).empty());
  // The host's share stays last.
  EXPECT_EQ(with.back().kind, OpKind::kHost);
}

// Three requests verify two drafts each: the first run is over 9 tokens, the
// second over 3; each gives one token a request.
TEST(Draft, FirstRunIsOverAllNewTokens) {
  const OpList drafts = Drafts(OpsOf(
      TinyDraftingGraph(), Drafting(BuildPass({{Role::kPrefill, 1, 50, 0},
                                               {Role::kDecode, 3, 3, 20}}),
                                    2)));
  std::vector<int64_t> rows, logits, contexts;
  for (const Op& op : drafts) {
    if (op.part == Part::kDraftProj) {
      const auto& shape = std::get<GemmShape>(op.shape);
      rows.push_back(shape.m);
      EXPECT_EQ(shape.k, 2 * shape.n);
    }
    if (op.part == Part::kHead) {
      logits.push_back(std::get<GemmShape>(op.shape).m);
    }
    if (op.part == Part::kAttention) {
      contexts.push_back(std::get<AttentionShape>(op.shape).group.context());
    }
  }
  EXPECT_EQ(rows, (std::vector<int64_t>{9, 3}));
  EXPECT_EQ(logits, (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(contexts, (std::vector<int64_t>{23, 24}));
}

TEST(Draft, OpsSayThatTheyDraft) {
  const auto graph = BuildGraph(TinyDraftingGraph());
  const OpList drafts =
      Drafts(OpsOf(TinyDraftingGraph(), Drafting(DecodePass(1, 5), 1), 2));
  std::vector<std::string> names;
  for (const Op& op : drafts) names.push_back(OpName(op, *graph));
  EXPECT_EQ(names,
            (std::vector<std::string>{"draft.draft_embedding",
                                      "draft.embedding_all_reduce",
                                      "draft.draft_norms",
                                      "draft.draft_proj",
                                      "draft.layers.moe.attention_norm",
                                      "draft.layers.moe.qkv_proj",
                                      "draft.layers.moe.rope",
                                      "draft.layers.moe.attention",
                                      "draft.layers.moe.o_proj",
                                      "draft.layers.moe.attention_all_reduce",
                                      "draft.layers.moe.ffn_norm",
                                      "draft.layers.moe.router",
                                      "draft.layers.moe.top_k",
                                      "draft.layers.moe.expert_up",
                                      "draft.layers.moe.expert_activation",
                                      "draft.layers.moe.expert_down",
                                      "draft.layers.moe.combine",
                                      "draft.layers.moe.shared_up",
                                      "draft.layers.moe.shared_activation",
                                      "draft.layers.moe.shared_down",
                                      "draft.layers.moe.shared_sum",
                                      "draft.layers.moe.ffn_all_reduce",
                                      "draft.final_norm",
                                      "draft.lm_head",
                                      "draft.logits_all_gather",
                                      "draft.sampling"}));
}

}  // namespace
}  // namespace mansard::model
