// Parameters of compressed attention and recurrent mixers worked out by hand.

#include "gtest/gtest.h"
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

// Query latent 7, 8 heads of 6, 4 groups of rank 3.
TEST(PartParameters, CompressedAttention) {
  CompressedAttention attention{.query_heads = 8,
                                .head_size = 6,
                                .rope_head_size = 2,
                                .query_lora_rank = 7,
                                .output_groups = 4,
                                .output_lora_rank = 3,
                                .sliding_window = 32};
  // Queries 16x7, 7x48; key 16x6; output 4 x 12x3, 12x16; 8 sinks.
  const int64_t window = 112 + 336 + 96 + 144 + 192 + 8;
  EXPECT_EQ(AttentionParameters(attention, 16), window);
  EXPECT_EQ(AttentionNormParameters(attention, true), 7 + 6);
  attention.ratio = 10;
  // Entries and their weights 16x6 each, positions 10x6.
  EXPECT_EQ(AttentionParameters(attention, 16), window + 192 + 60);
  EXPECT_EQ(AttentionNormParameters(attention, false), 7 + 6 + 6);
  attention.overlap = true;
  EXPECT_EQ(AttentionParameters(attention, 16), window + 2 * (192 + 60));
  // The indexer: keys compressed alike, 2 heads of 5 from the query latent,
  // weights 16x2.
  attention.indexer = SparseIndexer{2, 5, 4};
  EXPECT_EQ(AttentionParameters(attention, 16),
            window + 2 * (192 + 60) + 2 * (2 * 80 + 50) + 70 + 32);
  EXPECT_EQ(AttentionNormParameters(attention, false), 7 + 6 + 6 + 5);
}

TEST(PartParameters, GatedDelta) {
  RecurrentMixer mixer{.rule = StateRule::kGatedDelta,
                       .heads = 4,
                       .key_heads = 2,
                       .key_size = 3,
                       .value_size = 5};
  // q and k 16x6 each, v and gate 16x20 each, b and a 16x4 each; A_log and
  // dt_bias; output 20x16.
  const int64_t delta = 2 * 96 + 2 * 320 + 2 * 64 + 8 + 320;
  EXPECT_EQ(RecurrentParameters(mixer, 16), delta);
  EXPECT_EQ(RecurrentNormParameters(mixer), 0);
  mixer.conv_kernel = 4;  // Over 6 + 6 + 20 channels.
  EXPECT_EQ(RecurrentParameters(mixer, 16), delta + 4 * 32);
  mixer.conv_bias = true;
  EXPECT_EQ(RecurrentParameters(mixer, 16), delta + 5 * 32);
  mixer.projection_bias = true;  // Of q, k, v, gate and output.
  EXPECT_EQ(RecurrentParameters(mixer, 16), delta + 5 * 32 + 32 + 20 + 16);
  mixer.projection_bias = false;
  mixer.gate = OutputGate::kNone;
  EXPECT_EQ(RecurrentParameters(mixer, 16), delta + 5 * 32 - 320);
  mixer.gate = OutputGate::kLowRank;
  mixer.gate_rank = 2;
  EXPECT_EQ(RecurrentParameters(mixer, 16),
            delta + 5 * 32 - 320 + 16 * 2 + 2 * 20);
  mixer.output_norm = QkNorm::kPerHead;
  EXPECT_EQ(RecurrentNormParameters(mixer), 5);
  mixer.output_norm = QkNorm::kAllHeads;
  EXPECT_EQ(RecurrentNormParameters(mixer), 20);
  mixer.output_norm = QkNorm::kUnweighted;
  EXPECT_EQ(RecurrentNormParameters(mixer), 0);
}

TEST(PartParameters, OtherRecurrentRules) {
  // One decay a key element: rank 2 to 12, as many dt_bias; b 16x4; A_log.
  const RecurrentMixer kda{.rule = StateRule::kKeyGatedDelta,
                           .heads = 4,
                           .key_heads = 4,
                           .key_size = 3,
                           .value_size = 5,
                           .decay_rank = 2};
  EXPECT_EQ(RecurrentParameters(kda, 16),
            2 * 16 * 12 + 2 * 320 + 320 + (16 * 2 + 2 * 12 + 12) + 64 + 4);
  // Constant decays: q, k, v, gate and output.
  const RecurrentMixer lightning{.rule = StateRule::kDecay,
                                 .heads = 4,
                                 .key_heads = 4,
                                 .key_size = 5,
                                 .value_size = 5};
  EXPECT_EQ(RecurrentParameters(lightning, 16), 5 * 320);
  // x and gate 16x20, B and C 16x6, time steps 16x4; A_log, D, dt_bias; output.
  RecurrentMixer mamba2{.rule = StateRule::kMamba2,
                        .heads = 4,
                        .key_heads = 2,
                        .key_size = 3,
                        .value_size = 5};
  EXPECT_EQ(RecurrentParameters(mamba2, 16), 2 * 320 + 2 * 96 + 64 + 12 + 320);
  mamba2.projection_bias = true;  // In 20 + 20 + 12 + 4, out 16.
  EXPECT_EQ(RecurrentParameters(mamba2, 16),
            2 * 320 + 2 * 96 + 64 + 12 + 320 + 56 + 16);
  // x and gate 16x20; 20x(2 + 2x3), 2x20 and its bias; A_log 20x3, D; output.
  RecurrentMixer mamba{.rule = StateRule::kMamba,
                       .heads = 20,
                       .key_heads = 1,
                       .key_size = 3,
                       .value_size = 1,
                       .conv_kernel = 4,
                       .conv_bias = true,
                       .decay_rank = 2};
  EXPECT_EQ(RecurrentParameters(mamba, 16),
            2 * 320 + 5 * 20 + 160 + 60 + 60 + 20 + 320);
  mamba.inner_norms = true;
  EXPECT_EQ(RecurrentNormParameters(mamba), 2 + 2 * 3);
}

}  // namespace
}  // namespace mansard::model
