// Attention kinds inside a model: what published layouts read, compute and
// hold. Single ops are checked by ops/attention_kinds_test, every index by
// tests/reference.

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/lower/lower.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::AttentionModel;
using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::DecodePass;
using mansard::testing::DeepSeekV32Attention;
using mansard::testing::DeepSeekV4FlashAttention;
using mansard::testing::Find;
using mansard::testing::Gemma4Attention;
using mansard::testing::GptOss20bAttention;
using mansard::testing::LlamaVisionAttention;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::ToyHardware;

Target On(ModelGraphSpec spec, int tensor = 1) {
  return BuildTarget(
      TargetOn(BuildGraph(std::move(spec)), ToyHardware().Build(), tensor));
}

OpList OpsOf(const Target& target, const ForwardPass& pass) {
  return Lower(target.graph(), pass, target.layout(), target.formats(),
               target.fusion());
}

// Over all layers.
double SumOf(const OpList& ops, Part part, Bytes Work::*bytes) {
  double sum = 0;
  for (const Op& op : ops) {
    if (op.part == part) sum += op.repeat * (op.work.*bytes).value();
  }
  return sum;
}

TEST(DeepSeekV32, DecodeReadsItsChoiceAndEveryIndexKey) {
  for (int tensor : {1, 8}) {
    const OpList ops =
        OpsOf(On(DeepSeekV32Attention(), tensor), DecodePass(1, 65536));
    EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_read),
              61 * 2048 * 576 * 2.0);
    EXPECT_EQ(SumOf(ops, Part::kIndexScores, &Work::kv_read),
              61 * 65536 * 128 * 2.0);
    EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_write) +
                  SumOf(ops, Part::kIndexScores, &Work::kv_write),
              70272 + 15616);
    // Heads are shared, the indexer is on every rank.
    EXPECT_EQ(Find(ops, Part::kAttention).work.tensor.value(),
              2.0 * 128 / tensor * (2 * 512 + 64) * 2048);
    EXPECT_EQ(Find(ops, Part::kIndexScores).work.tensor.value(),
              2.0 * 64 * 128 * 65536);
    EXPECT_EQ(Find(ops, Part::kIndexQueryProj).held.value(),
              2.0 * 1536 * 64 * 128);
  }
}

TEST(DeepSeekV32, PromptsAreNotExpanded) {
  const OpList ops = OpsOf(On(DeepSeekV32Attention()), PrefillPass(1, 4096));
  EXPECT_EQ(Count(ops, Part::kKvExpand), 0);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kAbsorbQuery).shape).m, 4096);
  EXPECT_EQ(Find(ops, Part::kAttention).work.tensor.value(),
            2.0 * 128 * (2 * 512 + 64) * (2048.0 * 2049 / 2 + 2048.0 * 2048));
  EXPECT_EQ(Find(ops, Part::kIndexScores).work.tensor.value(),
            2.0 * 64 * 128 * (4096.0 * 4097 / 2));
}

TEST(SparseAttention, ChoicesOfAnEarlierLayerNeedNoIndexer) {
  ModelGraphSpec spec = DeepSeekV32Attention();
  LayerKind follows = spec.layer_kinds[0];
  follows.name = "follows";
  std::get<LatentAttention>(*follows.attention).indexer->heads = 0;
  spec.layer_kinds.push_back(follows);
  spec.layer_kind_indexes = {0, 1, 1, 1};
  const OpList ops = OpsOf(On(spec), DecodePass(1, 65536));
  for (Part part :
       {Part::kIndexQueryProj, Part::kIndexKeyProj, Part::kIndexKeyNorm,
        Part::kIndexRope, Part::kIndexScores, Part::kIndexSelect}) {
    EXPECT_EQ(Count(ops, part), 1) << PartName(part);
  }
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_read), 4 * 2048 * 576 * 2.0);
}

TEST(DeepSeekV4Flash, DecodeReadsWindowsEntriesAndIndexKeys) {
  const OpList ops =
      OpsOf(On(DeepSeekV4FlashAttention()), DecodePass(1, 65536));
  const double positions = 2 * 128 + 21 * (128 + 512) + 20 * (128 + 512);
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_read),
            positions * 512 * 2.0);
  EXPECT_EQ(SumOf(ops, Part::kIndexScores, &Work::kv_read),
            21 * 16384 * 128 * 2.0);
  EXPECT_EQ(Count(ops, Part::kCompressPool), 41);
  EXPECT_EQ(Count(ops, Part::kIndexPool), 21);
}

// 5536 bytes a token, 1344 more of index keys: what 512 tokens add, where all
// windows are full.
TEST(DeepSeekV4Flash, CacheGrowsByEntries) {
  const Target target = On(DeepSeekV4FlashAttention());
  const auto held = [&](int64_t context) {
    return EstimatePass(target, DecodePass(1, context)).memory.kv_cache.value();
  };
  EXPECT_EQ(held(65536 + 512) - held(65536), 512 * (5536.0 + 1344));
}

TEST(DeepSeekV4Flash, RanksShareHeadsAndOutputGroups) {
  const OpList whole =
      OpsOf(On(DeepSeekV4FlashAttention(), 1), DecodePass(4, 1000));
  const OpList part =
      OpsOf(On(DeepSeekV4FlashAttention(), 8), DecodePass(4, 1000));
  for (Part shared : {Part::kQueryProj, Part::kOutputDownProj,
                      Part::kOutputProj, Part::kAttention}) {
    EXPECT_EQ(8 * Find(part, shared).work.tensor,
              Find(whole, shared).work.tensor)
        << PartName(shared);
  }
  for (Part replicated :
       {Part::kLatentProj, Part::kCompressProj, Part::kCompressPool,
        Part::kIndexKeyProj, Part::kIndexScores}) {
    EXPECT_EQ(Find(part, replicated).work.tensor,
              Find(whole, replicated).work.tensor)
        << PartName(replicated);
    EXPECT_EQ(Find(part, replicated).held, Find(whole, replicated).held)
        << PartName(replicated);
  }
  const auto& down =
      std::get<GemmShape>(Find(whole, Part::kOutputDownProj).shape);
  EXPECT_EQ(down.batch, 8);
  EXPECT_EQ(down.k, 64 * 512 / 8);
  EXPECT_EQ(down.n, 1024);
}

TEST(GptOss20b, WindowLayersReadTheirWindow) {
  const OpList ops = OpsOf(On(GptOss20bAttention()), DecodePass(1, 8192));
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_read),
            12 * (8192 + 128) * 2.0 * 8 * 64 * 2);
  // A sink a head.
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::weights), 24 * 64 * 2.0);
}

TEST(Gemma4, KeysThatAreValuesAreCachedTwiceAndProjectedOnce) {
  const Target target = On(Gemma4Attention());
  const OpList ops = OpsOf(target, DecodePass(1, 8192));
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_write), 225280);
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_read),
            8192 * 20480.0 + 1024 * 204800.0);
  int64_t narrow = 0, wide = 0;
  for (const Op& op : ops) {
    if (op.part != Part::kQkvProj) continue;
    (op.layer_kind == 0 ? narrow : wide) = std::get<GemmShape>(op.shape).n;
  }
  EXPECT_EQ(narrow, (16 + 8 + 8) * 256);
  EXPECT_EQ(wide, (16 + 2) * 512);
  const auto held = [&](int64_t context) {
    return EstimatePass(target, DecodePass(1, context)).memory.kv_cache.value();
  };
  EXPECT_EQ(held(1), 225280);
  EXPECT_EQ(held(9000) - held(8999), 20480);
}

TEST(LlamaVision, TextAloneSkipsCrossAttentionLayers) {
  const Target target = On(LlamaVisionAttention());
  const OpList ops = OpsOf(target, DecodePass(2, 1000));
  for (const Op& op : ops) EXPECT_NE(op.layer_kind, 1) << PartName(op.part);
  EXPECT_EQ(Count(ops, Part::kAttention), 32);
  // The weights are on the device all the same.
  Bytes held;
  for (const Op& op : ops) held += op.repeat * op.held;
  EXPECT_EQ(held.value(),
            2.0 * static_cast<double>(target.graph().ParameterCount()));
}

TEST(LlamaVision, ImagesAreProjectedOnceAndReadByEveryToken) {
  const Target target = On(LlamaVisionAttention());
  const double cache = 8 * 6404.0 * 2 * 8 * 128 * 2;
  const OpList prompt =
      OpsOf(target, BuildPass({{Role::kPrefill, 1, 100, 0, 6404}}));
  EXPECT_EQ(Count(prompt, Part::kEncoderKvProj), 8);
  const auto& kv =
      std::get<GemmShape>(Find(prompt, Part::kEncoderKvProj).shape);
  EXPECT_EQ(kv.m, 6404);
  EXPECT_EQ(kv.n, 2 * 8 * 128);
  const OpList decode =
      OpsOf(target, BuildPass({{Role::kDecode, 3, 1, 200, 6404}}));
  EXPECT_EQ(Count(decode, Part::kEncoderKvProj), 0);
  double read = 0, written = 0, held = 0;
  for (const Op& op : decode) {
    held += op.repeat * op.held.value();
    if (op.layer_kind != 1) continue;
    read += op.repeat * op.work.kv_read.value();
    written += op.repeat * op.work.kv_write.value();
  }
  EXPECT_EQ(read, 3 * cache);
  EXPECT_EQ(written, 0);
  EXPECT_EQ(held, 2.0 * static_cast<double>(target.graph().ParameterCount()));
}

TEST(CrossAttention, GroupsWithoutAnEncoderHaveNoOp) {
  const OpList ops = OpsOf(On(LlamaVisionAttention()),
                           BuildPass({{Role::kPrefill, 1, 100, 0, 6404},
                                      {Role::kDecode, 3, 1, 200},
                                      {Role::kDecode, 2, 1, 300, 50}}));
  std::vector<int> groups;
  for (const Op& op : ops) {
    if (op.part == Part::kAttention && op.layer_kind == 1) {
      groups.push_back(op.group);
    }
  }
  EXPECT_EQ(groups, (std::vector<int>{0, 2}));
}

GroupedQueryAttention Grouped() {
  return {.query_heads = 8, .kv_heads = 2, .head_size = 16};
}

TEST(GroupedAttention, NormsOverAllHeadsAreReducedOverRanks) {
  GroupedQueryAttention attention = Grouped();
  attention.qk_norm = QkNorm::kAllHeads;
  const ModelGraphSpec spec = AttentionModel(64, {{"wide", attention}}, {0, 0});
  const OpList whole = OpsOf(On(spec), DecodePass(5, 10));
  EXPECT_EQ(Count(whole, Part::kQkNormAllReduce), 0);
  EXPECT_EQ(Find(whole, Part::kQkNorm).held.value(), 2.0 * (8 + 2) * 16);
  const OpList ranks = OpsOf(On(spec, 2), DecodePass(5, 10));
  EXPECT_EQ(Count(ranks, Part::kQkNormAllReduce), 2);
  // Two sums of squares a token, in fp32.
  EXPECT_EQ(Find(ranks, Part::kQkNormAllReduce).work.message.value(),
            5 * 2 * 4.0);
  EXPECT_EQ(Find(ranks, Part::kQkNorm).held.value(), 2.0 * (4 + 1) * 16);
}

TEST(GroupedAttention, GatesWidenTheQueriesAndScaleTheOutput) {
  GroupedQueryAttention attention = Grouped();
  attention.output_gate = true;
  const OpList ops = OpsOf(On(AttentionModel(64, {{"gated", attention}}, {0})),
                           DecodePass(5, 10));
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kQkvProj).shape).n,
            (2 * 8 + 2 * 2) * 16);
  const Op& gate = Find(ops, Part::kOutputGate);
  EXPECT_EQ(gate.kind, OpKind::kGate);
  EXPECT_EQ(gate.work.activations_in.value(), 2 * 5 * 8 * 16 * 2.0);
}

TEST(GroupedAttention, OnlyTheRotatedPartIsRotated) {
  GroupedQueryAttention attention = Grouped();
  attention.nope_head_size = 12;
  const auto rope_bytes = [&] {
    return SumOf(OpsOf(On(AttentionModel(64, {{"part", attention}}, {0})),
                       DecodePass(5, 10)),
                 Part::kRope, &Work::activations_in);
  };
  EXPECT_EQ(rope_bytes(), 5 * (8 + 2) * 4 * 2.0);
  attention.nope_head_size = 16;
  EXPECT_EQ(rope_bytes(), 0);
}

TEST(GroupedAttention, SharedKeysAndValuesHaveNoMemoryOfTheirOwn) {
  GroupedQueryAttention shared = Grouped();
  shared.shared_kv = true;
  const ModelGraphSpec spec =
      AttentionModel(64, {{"own", Grouped()}, {"shared", shared}}, {0, 1, 1});
  const Target target = On(spec);
  const double layer = 100 * 2.0 * 2 * 16 * 2;
  const OpList ops = OpsOf(target, DecodePass(1, 100));
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_read), 3 * layer);
  EXPECT_EQ(SumOf(ops, Part::kAttention, &Work::kv_write), layer / 100);
  EXPECT_EQ(EstimatePass(target, DecodePass(1, 100)).memory.kv_cache.value(),
            layer);
}

}  // namespace
}  // namespace mansard::model
