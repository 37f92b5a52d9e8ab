// Attention kinds beside grouped and latent attention: published shapes worked
// out by hand, and closed forms against loops. The exhaustive check is
// tests/reference.

#include "gtest/gtest.h"
#include "model/ops/op.h"

namespace mansard::model {
namespace {

TEST(EntryPairs, EqualsTheLoop) {
  for (int64_t ratio : {1, 2, 4, 5, 128}) {
    for (int64_t top_k : {0, 1, 3, 1000}) {
      for (int64_t prior : {0, 1, 3, 9, 127, 130}) {
        int64_t pairs = 0;
        for (int64_t count = 0; count < 40; ++count) {
          EXPECT_EQ(EntryPairs(count, prior, ratio, top_k),
                    static_cast<double>(pairs))
              << count << " new, " << prior << " prior, ratio " << ratio
              << ", top " << top_k;
          int64_t entries = 0;  // Complete with the next token.
          for (int64_t p = 0; p <= prior + count; ++p) {
            if (p % ratio == ratio - 1) ++entries;
          }
          pairs += top_k == 0 ? entries : std::min(entries, top_k);
        }
      }
    }
  }
}

// Whole blocks of `ratio` tokens that start at a boundary: the first ratio - 1
// see the entries before, the last its own as well.
TEST(EntryPairs, LargestContextsDoNotOverflow) {
  constexpr int64_t kContext = 1'000'000'000;
  for (int64_t ratio : {1, 4, 128}) {
    const int64_t prior = kContext - 128;
    const double before = static_cast<double>(prior / ratio);
    const double blocks = 128.0 / static_cast<double>(ratio);
    EXPECT_EQ(EntryPairs(128, prior, ratio, 0),
              128 * before +
                  static_cast<double>(ratio) * blocks * (blocks - 1) / 2 +
                  blocks)
        << ratio;
    EXPECT_EQ(EntryPairs(128, prior, ratio, 2048), 128 * 2048.0) << ratio;
    // A cap that none reaches, and one that the last reach.
    EXPECT_EQ(EntryPairs(128, prior, ratio, kContext),
              EntryPairs(128, prior, ratio, 0));
  }
  // 10^7 tokens at the end: the mean of first and last.
  EXPECT_EQ(EntryPairs(10'000'000, kContext - 10'000'000, 1, 0),
            1e7 * (990'000'001.0 + 1e9) / 2);
  EXPECT_EQ(CausalPairs(10'000'000, kContext - 10'000'000, 0),
            1e7 * (990'000'001.0 + 1e9) / 2);
  // One token in a chunk of half the context.
  EXPECT_EQ(CausalPairs(1, kContext - 1, 0, 500'000'000), 5e8);
  EXPECT_EQ(CausalPairs(1, kContext - 1, 4096), 4096);
}

TEST(EntriesMade, PromptsAreExactDecodesAMean) {
  EXPECT_EQ(EntriesMade({Role::kPrefill, 3, 5, 2}, 4), 3);  // At position 3.
  EXPECT_EQ(EntriesMade({Role::kPrefill, 1, 6, 2}, 4), 2);
  EXPECT_EQ(EntriesMade({Role::kPrefill, 1, 1, 4}, 4), 0);
  EXPECT_EQ(EntriesMade({Role::kDecode, 6, 1, 2}, 4), 1.5);
  EXPECT_EQ(EntriesMade({Role::kDecode, 6, 1, 3}, 4), 1.5);
}

// MiMo-V2: keys of 192, values of 128, 4 KV heads.
TEST(AttentionOp, ValuesMayBeNarrowerThanKeys) {
  const Op op = AttentionOp({.group = {Role::kPrefill, 1, 100, 50},
                             .query_heads = 64,
                             .kv_heads = 4,
                             .head_size = 192,
                             .value_head_size = 128});
  const double pairs = 100.0 * 50 + 100 * 101 / 2.0;
  EXPECT_EQ(op.work.tensor.value(), 2.0 * (192 + 128) * 64 * pairs);
  EXPECT_EQ(op.work.kv_read.value(), 50.0 * 4 * (192 + 128) * 2);
  EXPECT_EQ(op.work.kv_write.value(), 100.0 * 4 * (192 + 128) * 2);
  EXPECT_EQ(op.work.activations_in.value(),
            2.0 * 100 * (64 * 192 + 4 * (192 + 128)));
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 100 * 64 * 128);
}

// Of an earlier layer: read whole, new positions included, never written.
TEST(AttentionOp, SharedKeysAndValuesAreReadNotWritten) {
  AttentionShape shape{.group = {Role::kPrefill, 2, 100, 50},
                       .query_heads = 8,
                       .kv_heads = 2,
                       .head_size = 256,
                       .shared_kv = true};
  const Op prompt = AttentionOp(shape);
  EXPECT_EQ(prompt.work.kv_read.value(), 2.0 * 150 * 2 * 512 * 2);
  EXPECT_EQ(prompt.work.kv_write.value(), 0);
  EXPECT_EQ(prompt.work.activations_in.value(), 2.0 * 200 * 8 * 256);
  shape.group = {Role::kDecode, 2, 1, 149};
  EXPECT_EQ(AttentionOp(shape).work.kv_read.value(), 2.0 * 150 * 2 * 512 * 2);
  EXPECT_EQ(AttentionOp(shape).work.kv_write.value(), 0);
  shape.window = 64;
  EXPECT_EQ(AttentionOp(shape).work.kv_read.value(), 2.0 * 64 * 2 * 512 * 2);
}

// Llama 3.2 Vision: four tiles of 1601 positions, 32 heads on 8 of 128.
TEST(AttentionOp, CrossAttentionSeesTheEncoderAlone) {
  AttentionShape shape{.group = {Role::kPrefill, 1, 10, 0, 6404},
                       .query_heads = 32,
                       .kv_heads = 8,
                       .head_size = 128,
                       .cross = true};
  const double cache = 6404.0 * 2 * 8 * 128 * 2;
  const Op first = AttentionOp(shape);
  EXPECT_EQ(first.work.tensor.value(), 4.0 * 32 * 128 * 10 * 6404);
  EXPECT_EQ(first.work.kv_write.value(), cache);
  EXPECT_EQ(first.work.kv_read.value(), 0);
  EXPECT_EQ(first.work.activations_in.value(), 2.0 * 10 * 32 * 128 + cache);
  shape.group = {Role::kPrefill, 1, 10, 10, 6404};  // The prompt's second part.
  EXPECT_EQ(AttentionOp(shape).work.kv_write.value(), 0);
  EXPECT_EQ(AttentionOp(shape).work.kv_read.value(), cache);
  shape.group = {Role::kDecode, 3, 1, 5000, 6404};
  const Op decode = AttentionOp(shape);
  EXPECT_EQ(decode.work.tensor.value(), 3 * 4.0 * 32 * 128 * 6404);
  EXPECT_EQ(decode.work.kv_read.value(), 3 * cache);
  EXPECT_EQ(decode.work.kv_write.value(), 0);
}

// DeepSeek-V3.2: 128 heads, 2048 positions.
LatentAttentionShape Sparse(RequestGroup group) {
  return {.group = group,
          .query_heads = 128,
          .kv_lora_rank = 512,
          .nope_head_size = 128,
          .rope_head_size = 64,
          .value_head_size = 128,
          .top_k = 2048};
}

TEST(LatentAttentionOp, ChosenPositionsBoundReadAndWork) {
  const Op decode = LatentAttentionOp(Sparse({Role::kDecode, 5, 1, 65535}));
  EXPECT_EQ(decode.work.tensor.value(), 5 * 2.0 * 128 * 2048 * (2 * 512 + 64));
  EXPECT_EQ(decode.work.kv_read.value(), 5 * 2048 * 576 * 2.0);
  EXPECT_EQ(decode.work.kv_write.value(), 5 * 576 * 2.0);
  // Two drafts may choose twice as many, never more than there are.
  EXPECT_EQ(LatentAttentionOp(Sparse({Role::kDecode, 1, 2, 65534}))
                .work.kv_read.value(),
            2 * 2048 * 576 * 2.0);
  EXPECT_EQ(LatentAttentionOp(Sparse({Role::kDecode, 1, 4, 2996}))
                .work.kv_read.value(),
            3000 * 576 * 2.0);
  // All positions while there are no more: as without an indexer.
  LatentAttentionShape dense = Sparse({Role::kDecode, 1, 1, 2047});
  const Op chosen = LatentAttentionOp(dense);
  dense.top_k = 0;
  EXPECT_EQ(chosen.work.tensor, LatentAttentionOp(dense).work.tensor);
  EXPECT_EQ(chosen.work.kv_read, LatentAttentionOp(dense).work.kv_read);
}

TEST(LatentAttentionOp, PromptsOnChosenPositionsWorkOnLatentVectors) {
  const Op op = LatentAttentionOp(Sparse({Role::kPrefill, 1, 4096, 0}));
  EXPECT_EQ(op.kind, OpKind::kAttentionPrefill);
  // The first 2048 tokens see all before them, the others 2048.
  const double pairs = 2048.0 * 2049 / 2 + 2048.0 * 2048;
  EXPECT_EQ(op.work.tensor.value(), 2.0 * 128 * (2 * 512 + 64) * pairs);
  EXPECT_EQ(op.work.kv_read.value(), 0);
  EXPECT_EQ(op.work.activations_in.value(), 2.0 * 4096 * (128 * 576 + 576));
  EXPECT_EQ(op.work.activations_out.value(), 2.0 * 4096 * 128 * 512);
  // 10 tokens choose at most 20480 of the prefix.
  EXPECT_EQ(LatentAttentionOp(Sparse({Role::kPrefill, 1, 10, 50000}))
                .work.kv_read.value(),
            20480 * 576 * 2.0);
}

// DeepSeek-V3.2's indexer: 64 heads of 128.
TEST(IndexOps, ScoreEveryKeyAndKeepTheBest) {
  IndexShape shape{.group = {Role::kDecode, 2, 1, 65535},
                   .heads = 64,
                   .head_size = 128,
                   .top_k = 2048};
  const Op scores = IndexScoresOp(shape);
  EXPECT_EQ(scores.work.tensor.value(), 2 * 2.0 * 64 * 128 * 65536);
  EXPECT_EQ(scores.work.kv_read.value(), 2 * 65536 * 128 * 2.0);
  EXPECT_EQ(scores.work.kv_write.value(), 2 * 128 * 2.0);
  EXPECT_EQ(scores.work.activations_in.value(), 2 * 2.0 * 64 * 129);
  EXPECT_EQ(scores.work.activations_out.value(), 2 * 65536 * 4.0);
  const Op select = SelectOp(shape);
  EXPECT_EQ(select.kind, OpKind::kSelect);
  EXPECT_EQ(select.work.activations_in.value(), 2 * 65536 * 4.0);
  EXPECT_EQ(select.work.activations_out.value(), 2 * 2048 * 4.0);
  EXPECT_EQ(select.work.tensor.value(), 0);
  // A prompt: causal, the prefix's keys from the cache.
  shape.group = {Role::kPrefill, 1, 100, 900};
  const Op prompt = IndexScoresOp(shape);
  const double pairs = 100.0 * 900 + 100 * 101 / 2.0;
  EXPECT_EQ(prompt.work.tensor.value(), 2.0 * 64 * 128 * pairs);
  EXPECT_EQ(prompt.work.kv_read.value(), 900 * 128 * 2.0);
  // Keys of four positions each, written where they are pooled.
  shape.ratio = 4;
  shape.group = {Role::kDecode, 1, 1, 65535};
  EXPECT_EQ(IndexScoresOp(shape).work.kv_read.value(), 16384 * 128 * 2.0);
  EXPECT_EQ(IndexScoresOp(shape).work.kv_write.value(), 0);
}

TEST(IndexOps, NarrowKeysAreRead) {
  IndexShape shape{.group = {Role::kDecode, 1, 1, 1023},
                   .heads = 2,
                   .head_size = 128,
                   .top_k = 10,
                   .kv_cache = Format::kFp8E4m3};
  EXPECT_EQ(IndexScoresOp(shape).work.kv_read.value(), 1024 * 128);
}

// DeepSeek-V4-Flash: 64 heads of 512, a window of 128, entries of 4 positions,
// 512 of them, or of 128.
CompressedAttentionShape Compressed(RequestGroup group, int ratio,
                                    int64_t top_k) {
  return {.group = group,
          .query_heads = 64,
          .head_size = 512,
          .window = 128,
          .ratio = ratio,
          .top_k = top_k};
}

TEST(CompressedAttentionOp, ReadsItsWindowAndEntries) {
  const RequestGroup decode{Role::kDecode, 2, 1, 65535};
  const struct {
    int ratio;
    int64_t top_k;
    double seen;
  } kCases[] = {{4, 512, 128 + 512},
                {4, 0, 128 + 16384},
                {128, 0, 128 + 512},
                {0, 0, 128}};
  for (const auto& c : kCases) {
    const Op op = CompressedAttentionOp(Compressed(decode, c.ratio, c.top_k));
    EXPECT_EQ(op.work.tensor.value(), 2 * 4.0 * 64 * 512 * c.seen) << c.ratio;
    EXPECT_EQ(op.work.kv_read.value(), 2 * c.seen * 512 * 2.0) << c.ratio;
    // One head is key and value.
    EXPECT_EQ(op.work.kv_write.value(), 2 * 512 * 2.0) << c.ratio;
    EXPECT_EQ(op.work.activations_in.value(), 2 * 2.0 * 64 * 512) << c.ratio;
  }
}

TEST(CompressedAttentionOp, PromptsSeeWhatIsCompleteBeforeThem) {
  const Op op =
      CompressedAttentionOp(Compressed({Role::kPrefill, 1, 8, 6}, 4, 0));
  // Positions 6 to 13: 1, then 2 entries from 7 on, 3 from 11 on.
  const double entries = 1 + 4 * 2 + 3 * 3;
  const double positions = 8 * 6 + 8 * 9 / 2;
  EXPECT_EQ(op.work.tensor.value(), 4.0 * 64 * 512 * (entries + positions));
  // Six positions and one entry are cached, two entries are new.
  EXPECT_EQ(op.work.kv_read.value(), (6 + 1) * 512 * 2.0);
  EXPECT_EQ(op.work.activations_in.value(),
            2.0 * (8 * 64 * 512 + 8 * 512 + 2 * 512));
}

TEST(CompressOp, PoolsEveryPositionOnce) {
  // Values and gates of 1024 channels each: entries of 512 overlap.
  const Op prompt = CompressOp({100, 2048, Format::kBf16},
                               {.entries = 25, .entry_size = 512, .ratio = 4});
  EXPECT_EQ(prompt.work.activations_in.value(), 100 * 2048 * 2.0);
  EXPECT_EQ(prompt.work.special.value(), 100 * 1024.0);
  EXPECT_EQ(prompt.work.kv_write.value(), 25 * 512 * 2.0);
  EXPECT_EQ(prompt.work.kv_read.value(), 0);
  EXPECT_EQ(prompt.work.weights.value(), (4 * 1024 + 512) * 2.0);
  EXPECT_EQ(prompt.held, prompt.work.weights);
  // A decoded position waits in the state, in fp32 here.
  const Op decode =
      CompressOp({8, 2048, Format::kBf16}, {.decoded_rows = 8,
                                            .entries = 2,
                                            .entry_size = 512,
                                            .ratio = 4,
                                            .state = Format::kFp32});
  EXPECT_EQ(decode.work.kv_read.value(), 8 * 2048 * 4.0);
  EXPECT_EQ(decode.work.kv_write.value(), 8 * 2048 * 4.0 + 2 * 512 * 2.0);
}

}  // namespace
}  // namespace mansard::model
