// Work of single ops against numbers worked out by hand from the published
// shapes and the definitions. The exhaustive check is tests/reference.

#include "model/ops/op.h"

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

TEST(GemmOp, CountsOperandsAtTheirOwnWidths) {
  // Llama-3.1-8B's QKV projection for three tokens.
  const Op op = GemmOp({.m = 3, .n = 6144, .k = 4096}, false);
  EXPECT_EQ(op.work.tensor.value(), 2.0 * 3 * 6144 * 4096);
  EXPECT_EQ(op.work.weights.value(), 2.0 * 6144 * 4096);
  EXPECT_EQ(op.work.activations_in.value(), 2.0 * 3 * 4096);
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 3 * 6144);
}

TEST(GemmOp, FourBitWeightsDoNotShrinkActivations) {
  const Op op =
      GemmOp({.m = 3, .n = 256, .k = 512, .weights = Format::kInt4}, false);
  // 256 x 512 / 2 bytes, and for 256 x 4 groups of 128 two bytes of scale and
  // half a byte of zero point.
  EXPECT_EQ(op.work.weights.value(), 65536 + 1024 * 2.5);
  EXPECT_EQ(op.work.activations_in.value(), 2.0 * 3 * 512);
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 3 * 256);
}

TEST(GemmOp, Fp8InputBf16Output) {
  const Op op = GemmOp({.m = 4,
                        .n = 8,
                        .k = 16,
                        .input = Format::kFp8E4m3,
                        .weights = Format::kFp8E4m3},
                       true);
  EXPECT_EQ(op.work.activations_in.value(), 4 * 16 + 4);  // And one scale.
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 4 * 8);
  EXPECT_EQ(op.work.weights.value(), 8 * 16 + 4 + 2 * 8);  // Scale, bias.
}

TEST(GemmOp, BatchedMatricesAreApart) {
  // DeepSeek-V3's absorbed queries of five tokens, 16 heads of a rank.
  const Op op = GemmOp({.m = 5, .n = 512, .k = 128, .batch = 16}, false);
  EXPECT_EQ(op.work.tensor.value(), 2.0 * 5 * 16 * 512 * 128);
  EXPECT_EQ(op.work.weights.value(), 2.0 * 16 * 512 * 128);
  EXPECT_EQ(op.work.activations_in.value(), 2.0 * 5 * 16 * 128);
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 5 * 16 * 512);
}

TEST(GroupedGemmOp, ReadsTheExpertsThatAreTouchedAndHoldsAll) {
  // Mixtral's up-projection: 16 tokens, 32 rows.
  const GroupedGemmShape shape{.rows = 32,
                               .distinct_experts = 7.5,
                               .experts = 8,
                               .n = 2 * 14336,
                               .k = 4096};
  const Op op = GroupedGemmOp(shape, 16);
  const double expert = 2.0 * 2 * 14336 * 4096;
  EXPECT_EQ(op.kind, OpKind::kGroupedGemm);
  EXPECT_EQ(op.work.tensor.value(), 2.0 * 32 * 2 * 14336 * 4096);
  EXPECT_EQ(op.work.weights.value(), 7.5 * expert);
  EXPECT_EQ(op.held.value(), 8 * expert);
  EXPECT_EQ(op.work.activations_in.value(), 2.0 * 16 * 4096);
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 32 * 2 * 14336);
}

TEST(GroupedGemmOp, EachExpertHasAScaleAndTheInputHasOne) {
  const GroupedGemmShape shape{.rows = 6,
                               .distinct_experts = 3,
                               .experts = 4,
                               .n = 8,
                               .k = 16,
                               .input = Format::kFp8E4m3,
                               .weights = Format::kFp8E4m3};
  const Op op = GroupedGemmOp(shape, 3);
  EXPECT_EQ(op.work.weights.value(), 3 * (8 * 16 + 4));
  EXPECT_EQ(op.held.value(), 4 * (8 * 16 + 4));
  EXPECT_EQ(op.work.activations_in.value(), 3 * 16 + 4);
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 6 * 8);
}

AttentionShape Llama8b(RequestGroup group) {
  return {.group = group, .query_heads = 32, .kv_heads = 8, .head_size = 128};
}

TEST(AttentionOp, DecodeReadsKvOncePerSequence) {
  const Op op = AttentionOp(Llama8b({Role::kDecode, 2, 1, 1023}));
  EXPECT_EQ(op.kind, OpKind::kAttentionDecode);
  EXPECT_EQ(op.work.tensor.value(), 4.0 * 2 * 32 * 128 * 1024);
  // Two sequences, keys and values of 8 heads (not 32), the new token's too.
  EXPECT_EQ(op.work.kv_read.value(), 2.0 * 2 * 8 * 128 * 1024 * 2);
  EXPECT_EQ(op.work.kv_write.value(), 2.0 * 2 * 8 * 128 * 2);
  EXPECT_EQ(op.work.activations_in.value(), 2.0 * 32 * 128 * 2);
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 32 * 128 * 2);
  EXPECT_EQ(op.work.special.value(), 2.0 * 32 * 1024);
}

TEST(AttentionOp, DraftedTokensShareTheRead) {
  const Op one = AttentionOp(Llama8b({Role::kDecode, 1, 1, 1023}));
  const Op four = AttentionOp(Llama8b({Role::kDecode, 1, 4, 1020}));
  EXPECT_EQ(four.work.kv_read, one.work.kv_read);  // Same context, 1024.
  EXPECT_EQ(four.work.tensor, 4 * one.work.tensor);
  EXPECT_EQ(four.work.kv_write, 4 * one.work.kv_write);
}

TEST(AttentionOp, PrefillIsCausalAndWritesNoScores) {
  const Op op = AttentionOp(Llama8b({Role::kPrefill, 1, 4096, 0}));
  EXPECT_EQ(op.kind, OpKind::kAttentionPrefill);
  EXPECT_EQ(op.work.tensor.value(), 4.0 * 32 * 128 * (4096.0 * 4097 / 2));
  EXPECT_EQ(op.work.kv_read.value(), 0);
  const double row = 4096 * 128 * 2.0;  // Bytes of one head's matrix.
  EXPECT_EQ(op.work.activations_in.value(), row * (32 + 2 * 8));
  EXPECT_EQ(op.work.activations_out.value(), row * 32);
  EXPECT_EQ(op.work.kv_write.value(), row * 2 * 8);
}

TEST(AttentionOp, PrefixIsReadNotComputed) {
  const Op op = AttentionOp(Llama8b({Role::kPrefill, 1, 100, 900}));
  EXPECT_EQ(op.work.tensor.value(),
            4.0 * 32 * 128 * (100.0 * 900 + 100 * 101 / 2.0));
  EXPECT_EQ(op.work.kv_read.value(), 2.0 * 8 * 128 * 900 * 2);
}

TEST(AttentionOp, WindowBoundsReadAndWork) {
  AttentionShape shape = Llama8b({Role::kDecode, 1, 1, 9999});
  shape.window = 4096;
  const Op op = AttentionOp(shape);
  EXPECT_EQ(op.work.kv_read.value(), 2.0 * 8 * 128 * 4096 * 2);
  EXPECT_EQ(op.work.tensor.value(), 4.0 * 32 * 128 * 4096);
}

TEST(AttentionOp, ChunksBoundReadAndWork) {
  AttentionShape shape = Llama8b({Role::kPrefill, 1, 8192, 4096});
  shape.chunk = 8192;
  // Half a chunk is cached, the second chunk half full at the end.
  const Op prompt = AttentionOp(shape);
  EXPECT_EQ(
      prompt.work.tensor.value(),
      4.0 * 32 * 128 * (4096.0 * 4096 + 4096.0 * 4097 / 2 + 4096.0 * 4097 / 2));
  EXPECT_EQ(prompt.work.kv_read.value(), 2.0 * 8 * 128 * 4096 * 2);
  shape.group = {Role::kPrefill, 1, 100, 16384};  // Starts a chunk.
  EXPECT_EQ(AttentionOp(shape).work.kv_read.value(), 0);
  // A decode is counted at the fullest position of a chunk.
  shape.group = {Role::kDecode, 1, 1, 16384};
  EXPECT_EQ(AttentionOp(shape).work.kv_read.value(), 2.0 * 8 * 128 * 8192 * 2);
  EXPECT_EQ(AttentionOp(shape).work.tensor.value(), 4.0 * 32 * 128 * 8192);
  shape.group = {Role::kDecode, 1, 1, 999};
  EXPECT_EQ(AttentionOp(shape).work.kv_read.value(), 2.0 * 8 * 128 * 1000 * 2);
}

// Published for N = 4096, d = 128, two bytes: 4 N^2 + 4 N d against 4 N d
// element moves: 33 times as many, 97 % of them scores.
TEST(AttentionOp, UnfusedScoresAreWrittenAndReadTwice) {
  AttentionShape shape{.group = {Role::kPrefill, 1, 4096, 0},
                       .query_heads = 1,
                       .kv_heads = 1,
                       .head_size = 128,
                       .causal = false};
  const Op fused = AttentionOp(shape);
  shape.fused = false;
  const Op unfused = AttentionOp(shape);
  const double vectors = 4.0 * 4096 * 128;
  const double scores = 4.0 * 4096 * 4096;
  EXPECT_EQ(fused.work.activations().value(), 2 * vectors);
  EXPECT_EQ(unfused.work.activations().value(), 2 * (vectors + scores));
  EXPECT_EQ(unfused.work.activations() / fused.work.activations(), 33);
  EXPECT_EQ(unfused.work.tensor, fused.work.tensor);
  EXPECT_EQ(unfused.work.tensor.value(), 4.0 * 4096 * 4096 * 128);
  EXPECT_EQ(unfused.work.kv_write, fused.work.kv_write);
}

// 16 of DeepSeek-V3's 128 heads.
LatentAttentionShape DeepSeek(RequestGroup group) {
  return {.group = group,
          .query_heads = 16,
          .kv_lora_rank = 512,
          .nope_head_size = 128,
          .rope_head_size = 64,
          .value_head_size = 128};
}

TEST(LatentAttentionOp, DecodeReadsOneVectorAPositionForAllHeads) {
  const Op op = LatentAttentionOp(DeepSeek({Role::kDecode, 3, 2, 998}));
  EXPECT_EQ(op.kind, OpKind::kAttentionDecode);
  EXPECT_EQ(op.work.tensor.value(), 2.0 * 6 * 16 * 1000 * (2 * 512 + 64));
  EXPECT_EQ(op.work.kv_read.value(), 3.0 * 1000 * 576 * 2);  // Not per draft.
  EXPECT_EQ(op.work.kv_write.value(), 6.0 * 576 * 2);
  EXPECT_EQ(op.work.activations_in.value(), 6.0 * 16 * 576 * 2);
  EXPECT_EQ(op.work.activations_out.value(), 6.0 * 16 * 512 * 2);
  EXPECT_EQ(op.work.special.value(), 6.0 * 16 * 1000);
}

TEST(LatentAttentionOp, PrefillReadsExpandedKeysAndValues) {
  const Op op = LatentAttentionOp(DeepSeek({Role::kPrefill, 1, 100, 900}));
  EXPECT_EQ(op.kind, OpKind::kAttentionPrefill);
  const double pairs = 100.0 * 900 + 100 * 101 / 2.0;
  EXPECT_EQ(op.work.tensor.value(), 2.0 * 16 * (128 + 64 + 128) * pairs);
  // The expansion reads the prefix's latent vectors, this its rotated keys.
  EXPECT_EQ(op.work.kv_read.value(), 900.0 * 64 * 2);
  EXPECT_EQ(op.work.kv_write.value(), 100.0 * 576 * 2);
  EXPECT_EQ(op.work.activations_in.value(),
            2.0 * (100 * 16 * 192 + 1000 * 16 * 256 + 100 * 64));
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 100 * 16 * 128);
}

TEST(LatentAttentionOp, Fp8KvHalvesTheCacheAlone) {
  LatentAttentionShape shape = DeepSeek({Role::kDecode, 1, 1, 1023});
  const Op wide = LatentAttentionOp(shape);
  shape.kv_cache = Format::kFp8E4m3;
  const Op narrow = LatentAttentionOp(shape);
  EXPECT_EQ(2 * narrow.work.kv_read, wide.work.kv_read);
  EXPECT_EQ(2 * narrow.work.kv_write, wide.work.kv_write);
  EXPECT_EQ(narrow.work.activations(), wide.work.activations());
}

TEST(AttentionOp, Fp8KvHalvesTheCacheAlone) {
  AttentionShape shape = Llama8b({Role::kDecode, 1, 1, 1023});
  const Op wide = AttentionOp(shape);
  shape.kv_cache = Format::kFp8E4m3;
  const Op narrow = AttentionOp(shape);
  EXPECT_EQ(2 * narrow.work.kv_read, wide.work.kv_read);
  EXPECT_EQ(2 * narrow.work.kv_write, wide.work.kv_write);
  EXPECT_EQ(narrow.work.activations_in, wide.work.activations_in);
  EXPECT_EQ(narrow.work.tensor, wide.work.tensor);
}

TEST(CausalPairs, EqualsTheLoop) {
  for (int64_t window : {0, 1, 2, 5, 100}) {
    for (int64_t prior : {0, 1, 4, 7}) {
      for (int64_t count = 0; count < 12; ++count) {
        int64_t pairs = 0;
        for (int64_t i = prior; i < prior + count; ++i) {
          for (int64_t j = 0; j <= i; ++j) {
            if (window == 0 || i - j < window) ++pairs;
          }
        }
        EXPECT_EQ(CausalPairs(count, prior, window), static_cast<double>(pairs))
            << count << " new, " << prior << " prior, window " << window;
      }
    }
  }
}

TEST(CausalPairs, EqualsTheLoopOverChunks) {
  for (int64_t chunk : {1, 2, 5, 100}) {
    for (int64_t prior : {0, 1, 4, 7}) {
      for (int64_t count = 0; count < 12; ++count) {
        int64_t pairs = 0;
        for (int64_t i = prior; i < prior + count; ++i) {
          for (int64_t j = 0; j <= i; ++j) pairs += i / chunk == j / chunk;
        }
        EXPECT_EQ(CausalPairs(count, prior, 0, chunk),
                  static_cast<double>(pairs))
            << count << " new, " << prior << " prior, chunk " << chunk;
      }
    }
  }
}

TEST(ElementwiseOps, MoveEachMatrixOnce) {
  const ElementwiseShape shape{10, 64, Format::kBf16};
  const double matrix = 10 * 64 * 2.0;
  struct Case {
    const char* name;
    Op op;
    double in, out, weights;
  };
  const Case kCases[] = {
      {"norm", NormOp(shape, false, Format::kBf16), 1, 1, 64 * 2.0},
      {"norm + residual", NormOp(shape, true, Format::kFp32), 2, 2, 64 * 4.0},
      {"rope", RopeOp(shape), 1, 1, 0},
      {"gated activation", ActivationOp(shape, true), 2, 1, 0},
      {"plain activation", ActivationOp(shape, false), 1, 1, 0},
      {"residual", ResidualOp(shape), 2, 1, 0},
      {"sampling", SamplingOp(shape), 1, 0, 0},
      {"top-k", RoutingOp(shape), 1, 0, 0},
      {"combine of eight", CombineOp(shape, 8), 8, 1, 0},
      // A gather: the rows, not the table.
      {"embedding", EmbeddingOp(shape, Format::kBf16), 0, 1, matrix},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(c.op.work.activations_in.value(), c.in * matrix) << c.name;
    EXPECT_EQ(c.op.work.activations_out.value(), c.out * matrix) << c.name;
    EXPECT_EQ(c.op.work.weights.value(), c.weights) << c.name;
    EXPECT_EQ(c.op.work.tensor.value(), 0) << c.name;
  }
  const Op quantize = QuantizeOp(shape, Format::kFp8E4m3);
  EXPECT_EQ(quantize.work.activations_in.value(), matrix);
  EXPECT_EQ(quantize.work.activations_out.value(), 10 * 64 + 4);
}

TEST(CollectiveOps, CarryTheWholeBuffer) {
  const CollectiveShape shape{4, LinkTier::kNvlink};
  const Op reduce = AllReduceOp(shape, Bytes::Of(1000));
  EXPECT_EQ(reduce.work.message.value(), 1000);
  EXPECT_EQ(reduce.work.activations_in.value(), 1000);
  const Op gather = AllGatherOp(shape, Bytes::Of(1000));
  EXPECT_EQ(gather.work.activations_in.value(), 250);
  EXPECT_EQ(gather.work.activations_out.value(), 1000);
}

}  // namespace
}  // namespace mansard::model
