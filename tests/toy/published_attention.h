// Published attention layouts beyond grouped and latent attention, in graphs of
// whole models. Feed-forwards are cut to one dense width: tests here look at
// mixers and caches. Sources: the checkpoints' config.json
// (deepseek-ai/DeepSeek-V3.2, deepseek-ai/DeepSeek-V4-Flash,
// openai/gpt-oss-20b, google/gemma-4-26B-A4B, meta-llama/Llama-3.2-11B-Vision).
#pragma once

#include <utility>
#include <vector>

#include "model/graph/model_graph.h"

namespace mansard::testing {

inline model::ModelGraphSpec AttentionModel(
    int64_t hidden, std::vector<std::pair<const char*, model::Attention>> kinds,
    std::vector<int> layers) {
  model::ModelGraphSpec spec;
  spec.hidden_size = hidden;
  spec.vocabulary_size = 1024;
  spec.max_context = 1 << 20;
  for (auto& [name, attention] : kinds) {
    spec.layer_kinds.push_back(
        {name, std::move(attention),
         model::DenseFeedForward{.intermediate_size = 2048}});
  }
  spec.layer_kind_indexes = std::move(layers);
  return spec;
}

// 61 layers, each with an indexer of 64 heads of 128 that keeps 2048 positions.
inline model::ModelGraphSpec DeepSeekV32Attention() {
  return AttentionModel(7168,
                        {{"sparse",
                          model::LatentAttention{
                              .query_heads = 128,
                              .kv_lora_rank = 512,
                              .query_lora_rank = 1536,
                              .nope_head_size = 128,
                              .rope_head_size = 64,
                              .value_head_size = 128,
                              .indexer = model::SparseIndexer{.heads = 64,
                                                              .head_size = 128,
                                                              .top_k = 2048}}}},
                        std::vector<int>(61, 0));
}

// 43 layers: two with a window alone, then entries of 4 positions (21 layers,
// overlapping, 512 chosen) and of 128 (20 layers) in turn.
inline model::ModelGraphSpec DeepSeekV4FlashAttention() {
  model::CompressedAttention window{.query_heads = 64,
                                    .head_size = 512,
                                    .rope_head_size = 64,
                                    .query_lora_rank = 1024,
                                    .output_groups = 8,
                                    .output_lora_rank = 1024,
                                    .sliding_window = 128};
  model::CompressedAttention fine = window;
  fine.ratio = 4;
  fine.overlap = true;
  fine.indexer =
      model::SparseIndexer{.heads = 64, .head_size = 128, .top_k = 512};
  model::CompressedAttention coarse = window;
  coarse.ratio = 128;
  std::vector<int> layers = {0, 0};
  for (int i = 0; i < 20; ++i) layers.insert(layers.end(), {1, 2});
  layers.push_back(1);
  return AttentionModel(
      4096, {{"window", window}, {"fine", fine}, {"coarse", coarse}}, layers);
}

// 24 layers, a window of 128 in every other one, sinks in all.
inline model::ModelGraphSpec GptOss20bAttention() {
  model::GroupedQueryAttention full{.query_heads = 64,
                                    .kv_heads = 8,
                                    .head_size = 64,
                                    .qkv_bias = true,
                                    .output_bias = true,
                                    .sinks = true};
  model::GroupedQueryAttention window = full;
  window.sliding_window = 128;
  std::vector<int> layers;
  for (int i = 0; i < 12; ++i) layers.insert(layers.end(), {0, 1});
  return AttentionModel(2880, {{"window", window}, {"full", full}}, layers);
}

// 30 layers, five in six with a window of 1024; the others' values are their
// keys, on heads twice as wide.
inline model::ModelGraphSpec Gemma4Attention() {
  const model::GroupedQueryAttention window{.query_heads = 16,
                                            .kv_heads = 8,
                                            .head_size = 256,
                                            .qk_norm = model::QkNorm::kPerHead,
                                            .sliding_window = 1024};
  const model::GroupedQueryAttention full{.query_heads = 16,
                                          .kv_heads = 2,
                                          .head_size = 512,
                                          .qk_norm = model::QkNorm::kPerHead,
                                          .value_from_key = true};
  std::vector<int> layers;
  for (int i = 0; i < 30; ++i) layers.push_back(i % 6 == 5 ? 1 : 0);
  return AttentionModel(2816, {{"window", window}, {"full", full}}, layers);
}

// 40 layers, eight of them over the vision encoder's positions.
inline model::ModelGraphSpec LlamaVisionAttention() {
  const model::GroupedQueryAttention text{
      .query_heads = 32, .kv_heads = 8, .head_size = 128};
  const model::CrossAttention cross{.query_heads = 32,
                                    .kv_heads = 8,
                                    .head_size = 128,
                                    .qk_norm = model::QkNorm::kPerHead};
  std::vector<int> layers;
  for (int i = 0; i < 40; ++i) layers.push_back(i % 5 == 3 ? 1 : 0);
  return AttentionModel(4096, {{"text", text}, {"cross", cross}}, layers);
}

}  // namespace mansard::testing
