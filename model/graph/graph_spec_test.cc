#include "model/graph/graph_spec.h"

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

TEST(GraphSpec, KvElementsPerEntry) {
  EXPECT_EQ(KvElementsPerEntry(GroupedQueryAttention{.head_size = 128}, 8),
            2048);
  EXPECT_EQ(KvElementsPerEntry(GroupedQueryAttention{.head_size = 96}, 1), 192);
  // MiMo-V2: keys of 192, values of 128.
  EXPECT_EQ(
      KvElementsPerEntry(
          GroupedQueryAttention{.head_size = 192, .value_head_size = 128}, 4),
      1280);
  // Both are cached although one projection makes them.
  EXPECT_EQ(
      KvElementsPerEntry(
          GroupedQueryAttention{.head_size = 512, .value_from_key = true}, 2),
      2048);
  EXPECT_EQ(KvElementsPerEntry(
                GroupedQueryAttention{.head_size = 256, .shared_kv = true}, 2),
            0);
  // DeepSeek-V3: one latent vector and one rotated key, whatever the heads.
  EXPECT_EQ(KvElementsPerEntry(LatentAttention{.query_heads = 128,
                                               .kv_lora_rank = 512,
                                               .query_lora_rank = 1536,
                                               .nope_head_size = 128,
                                               .rope_head_size = 64,
                                               .value_head_size = 128}),
            576);
  EXPECT_EQ(KvElementsPerEntry(
                CompressedAttention{.query_heads = 64, .head_size = 512}),
            512);
}

TEST(GraphSpec, IndexerElementsPerEntry) {
  LatentAttention latent{.query_heads = 128, .kv_lora_rank = 512};
  EXPECT_EQ(IndexerElementsPerEntry(latent), 0);
  latent.indexer = SparseIndexer{64, 128, 2048};
  EXPECT_EQ(IndexerElementsPerEntry(latent), 128);
  // An earlier layer's choice: no keys of its own.
  latent.indexer->heads = 0;
  EXPECT_EQ(IndexerElementsPerEntry(latent), 0);
  CompressedAttention compressed{.query_heads = 64, .head_size = 512};
  EXPECT_EQ(IndexerElementsPerEntry(compressed), 0);
  compressed.indexer = SparseIndexer{64, 96, 512};
  EXPECT_EQ(IndexerElementsPerEntry(compressed), 96);
  EXPECT_EQ(IndexerElementsPerEntry(GroupedQueryAttention{.head_size = 64}), 0);
  EXPECT_EQ(IndexerElementsPerEntry(CrossAttention{.head_size = 64}), 0);
}

TEST(GraphSpec, EntriesHeld) {
  const struct {
    const char* name;
    Attention attention;
    int64_t context;
    double positions;
    double compressed;
  } kRows[] = {
      {"all earlier ones", GroupedQueryAttention{}, 5000, 5000, 0},
      {"window not full", GroupedQueryAttention{.sliding_window = 1024}, 1000,
       1000, 0},
      {"window full", GroupedQueryAttention{.sliding_window = 1024}, 5000, 1024,
       0},
      {"chunk", GroupedQueryAttention{.chunk = 4096}, 5000, 4096, 0},
      {"another layer's", GroupedQueryAttention{.shared_kv = true}, 5000, 0, 0},
      {"latent", LatentAttention{}, 5000, 5000, 0},
      {"window alone", CompressedAttention{.sliding_window = 128}, 5000, 128,
       0},
      {"compressed by 4",
       CompressedAttention{.sliding_window = 128, .ratio = 4}, 5003, 128, 1250},
      {"before the first entry",
       CompressedAttention{.sliding_window = 128, .ratio = 128}, 127, 127, 0},
      {"with it", CompressedAttention{.sliding_window = 128, .ratio = 128}, 128,
       128, 1},
      {"encoder's", CrossAttention{}, 5000, 0, 0},
  };
  for (const auto& row : kRows) {
    const CacheEntries held = EntriesHeld(row.attention, row.context);
    EXPECT_EQ(held.positions, row.positions) << row.name;
    EXPECT_EQ(held.compressed, row.compressed) << row.name;
  }
}

TEST(GraphSpec, RecurrentWidths) {
  // Qwen3-Next: 16 key heads and 32 value heads of 128.
  const RecurrentMixer delta{.rule = StateRule::kGatedDelta,
                             .heads = 32,
                             .key_heads = 16,
                             .key_size = 128,
                             .value_size = 128,
                             .conv_kernel = 4};
  EXPECT_EQ(delta.conv_width(), 8192);
  EXPECT_EQ(delta.conv_state_elements(), 3 * 8192);
  EXPECT_EQ(delta.state_elements(), 32 * 128 * 128);
  // Falcon-H1: x of 3072, B and C of 256 each.
  const RecurrentMixer mamba2{.rule = StateRule::kMamba2,
                              .heads = 24,
                              .key_heads = 1,
                              .key_size = 256,
                              .value_size = 128,
                              .conv_kernel = 4};
  EXPECT_EQ(mamba2.conv_width(), 3584);
  // Jamba: x alone.
  const RecurrentMixer mamba{.rule = StateRule::kMamba,
                             .heads = 8192,
                             .key_heads = 1,
                             .key_size = 16,
                             .value_size = 1,
                             .conv_kernel = 4};
  EXPECT_EQ(mamba.conv_width(), 8192);
  EXPECT_EQ(mamba.state_elements(), 8192 * 16);
  EXPECT_EQ(RecurrentMixer{.heads = 64}.conv_state_elements(), 0);
}

TEST(GraphSpec, QueryHeads) {
  EXPECT_EQ(QueryHeads(GroupedQueryAttention{.query_heads = 3}), 3);
  EXPECT_EQ(QueryHeads(LatentAttention{.query_heads = 4}), 4);
  EXPECT_EQ(QueryHeads(CompressedAttention{.query_heads = 5}), 5);
  EXPECT_EQ(QueryHeads(CrossAttention{.query_heads = 6}), 6);
}

}  // namespace
}  // namespace mansard::model
