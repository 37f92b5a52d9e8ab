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
