// Published models with recurrent mixers, as graphs. Sources: the checkpoints'
// config.json (Qwen/Qwen3-Next-80B-A3B-Instruct, nvidia/Nemotron-H-56B-Base-8K,
// tiiuae/Falcon-H1-7B-Instruct, MiniMaxAI/MiniMax-Text-01,
// ai21labs/AI21-Jamba-1.5-Mini, state-spaces/mamba2-780m). States are kept in
// fp32.
#pragma once

#include "model/graph/model_graph.h"

namespace mansard::testing {

// 48 layers, each fourth with gated attention, the others Gated DeltaNet.
inline model::ModelGraphSpec Qwen3Next80b() {
  const model::MixtureOfExperts experts{.expert_count = 512,
                                        .experts_per_token = 10,
                                        .expert_intermediate_size = 512,
                                        .shared_intermediate_size = 512,
                                        .shared_expert_gate = true};
  model::ModelGraphSpec spec;
  spec.hidden_size = 2048;
  spec.vocabulary_size = 151936;
  spec.max_context = 262144;
  spec.native_precision.state = model::Format::kFp32;
  spec.layer_kinds = {
      {.name = "linear-moe",
       .feed_forward = experts,
       .recurrent =
           model::RecurrentMixer{.rule = model::StateRule::kGatedDelta,
                                 .heads = 32,
                                 .key_heads = 16,
                                 .key_size = 128,
                                 .value_size = 128,
                                 .conv_kernel = 4,
                                 .output_norm = model::QkNorm::kPerHead}},
      {.name = "moe",
       .attention =
           model::GroupedQueryAttention{.query_heads = 16,
                                        .kv_heads = 2,
                                        .head_size = 256,
                                        .nope_head_size = 192,
                                        .qk_norm = model::QkNorm::kPerHead,
                                        .output_gate = true},
       .feed_forward = experts}};
  for (int i = 0; i < 48; ++i) {
    spec.layer_kind_indexes.push_back(i % 4 == 3 ? 1 : 0);
  }
  return spec;
}

// 54 blocks of Mamba 2, 10 of attention, 54 feed-forwards: one part each.
inline model::ModelGraphSpec NemotronH56b() {
  model::ModelGraphSpec spec;
  spec.hidden_size = 8192;
  spec.vocabulary_size = 131072;
  spec.max_context = 8192;
  spec.native_precision.state = model::Format::kFp32;
  spec.layer_kinds = {
      {.name = "mamba2",
       .feed_forward = model::NoFeedForward{},
       .recurrent =
           model::RecurrentMixer{.rule = model::StateRule::kMamba2,
                                 .heads = 256,
                                 .key_heads = 8,
                                 .key_size = 256,
                                 .value_size = 64,
                                 .conv_kernel = 4,
                                 .conv_bias = true,
                                 .output_norm = model::QkNorm::kAllHeads}},
      {.name = "attention",
       .attention = model::GroupedQueryAttention{.query_heads = 64,
                                                 .kv_heads = 8,
                                                 .head_size = 128,
                                                 .nope_head_size = 128},
       .feed_forward = model::NoFeedForward{}},
      {.name = "dense",
       .feed_forward = model::DenseFeedForward{.intermediate_size = 32768,
                                               .gated = false}}};
  // The order is no matter here.
  spec.layer_kind_indexes.assign(54, 0);
  spec.layer_kind_indexes.insert(spec.layer_kind_indexes.end(), 10, 1);
  spec.layer_kind_indexes.insert(spec.layer_kind_indexes.end(), 54, 2);
  return spec;
}

// 44 layers with attention and Mamba 2 side by side.
inline model::ModelGraphSpec FalconH1_7b() {
  model::ModelGraphSpec spec;
  spec.hidden_size = 3072;
  spec.vocabulary_size = 130049;
  spec.max_context = 262144;
  spec.native_precision.state = model::Format::kFp32;
  spec.layer_kinds = {
      {.name = "mamba2-beside-attention",
       .attention =
           model::GroupedQueryAttention{
               .query_heads = 12, .kv_heads = 2, .head_size = 128},
       .feed_forward = model::DenseFeedForward{.intermediate_size = 12288},
       .recurrent =
           model::RecurrentMixer{.rule = model::StateRule::kMamba2,
                                 .heads = 24,
                                 .key_heads = 1,
                                 .key_size = 256,
                                 .value_size = 128,
                                 .conv_kernel = 4,
                                 .conv_bias = true,
                                 .output_norm = model::QkNorm::kAllHeads}}};
  spec.layer_kind_indexes.assign(44, 0);
  return spec;
}

// 80 layers, each eighth with attention, the others lightning attention.
inline model::ModelGraphSpec MiniMaxText01() {
  const model::MixtureOfExperts experts{.expert_count = 32,
                                        .experts_per_token = 2,
                                        .expert_intermediate_size = 9216};
  model::ModelGraphSpec spec;
  spec.hidden_size = 6144;
  spec.vocabulary_size = 200064;
  spec.max_context = 10'240'000;
  spec.native_precision.state = model::Format::kFp32;
  spec.layer_kinds = {
      {.name = "linear-moe",
       .feed_forward = experts,
       .recurrent =
           model::RecurrentMixer{.rule = model::StateRule::kDecay,
                                 .heads = 64,
                                 .key_heads = 64,
                                 .key_size = 128,
                                 .value_size = 128,
                                 .output_norm = model::QkNorm::kAllHeads}},
      {.name = "moe",
       .attention = model::GroupedQueryAttention{.query_heads = 64,
                                                 .kv_heads = 8,
                                                 .head_size = 128,
                                                 .nope_head_size = 64},
       .feed_forward = experts}};
  for (int i = 0; i < 80; ++i) {
    spec.layer_kind_indexes.push_back(i % 8 == 7 ? 1 : 0);
  }
  return spec;
}

// 32 layers, each eighth with attention, the others Mamba; experts in each
// second.
inline model::ModelGraphSpec Jamba15Mini() {
  const model::RecurrentMixer mamba{.rule = model::StateRule::kMamba,
                                    .heads = 8192,
                                    .key_heads = 1,
                                    .key_size = 16,
                                    .value_size = 1,
                                    .conv_kernel = 4,
                                    .conv_bias = true,
                                    .decay_rank = 256,
                                    .inner_norms = true};
  const model::DenseFeedForward dense{.intermediate_size = 14336};
  const model::MixtureOfExperts experts{.expert_count = 16,
                                        .experts_per_token = 2,
                                        .expert_intermediate_size = 14336};
  model::ModelGraphSpec spec;
  spec.hidden_size = 4096;
  spec.vocabulary_size = 65536;
  spec.max_context = 262144;
  spec.native_precision.state = model::Format::kFp32;
  spec.layer_kinds = {
      {.name = "mamba-dense", .feed_forward = dense, .recurrent = mamba},
      {.name = "mamba-moe", .feed_forward = experts, .recurrent = mamba},
      {.name = "dense",
       .attention = model::GroupedQueryAttention{.query_heads = 32,
                                                 .kv_heads = 8,
                                                 .head_size = 128,
                                                 .nope_head_size = 128},
       .feed_forward = dense}};
  for (int i = 0; i < 32; ++i) {
    spec.layer_kind_indexes.push_back(i % 8 == 4 ? 2 : i % 2);
  }
  return spec;
}

// 48 layers of Mamba 2 alone.
inline model::ModelGraphSpec Mamba2_780m() {
  model::ModelGraphSpec spec;
  spec.hidden_size = 1536;
  spec.vocabulary_size = 50288;
  spec.max_context = 1'000'000;
  spec.tied_embeddings = true;
  spec.native_precision.state = model::Format::kFp32;
  spec.layer_kinds = {{.name = "mamba2",
                       .feed_forward = model::NoFeedForward{},
                       .recurrent = model::RecurrentMixer{
                           .rule = model::StateRule::kMamba2,
                           .heads = 48,
                           .key_heads = 1,
                           .key_size = 128,
                           .value_size = 64,
                           .conv_kernel = 4,
                           .conv_bias = true,
                           .output_norm = model::QkNorm::kAllHeads}}};
  spec.layer_kind_indexes.assign(48, 0);
  return spec;
}

}  // namespace mansard::testing
