// Published models that the repository ships no data for, as graphs. Sources:
// the checkpoints' config.json (deepseek-ai/DeepSeek-V3,
// mistralai/Mixtral-8x7B-v0.1).
#pragma once

#include "model/graph/model_graph.h"

namespace mansard::testing {

// 61 layers, the first three dense; the multi-token prediction layer and the
// router's correction biases are no part of it.
inline model::ModelGraphSpec DeepSeekV3() {
  const model::LatentAttention attention{.query_heads = 128,
                                         .kv_lora_rank = 512,
                                         .query_lora_rank = 1536,
                                         .nope_head_size = 128,
                                         .rope_head_size = 64,
                                         .value_head_size = 128};
  model::ModelGraphSpec spec;
  spec.hidden_size = 7168;
  spec.vocabulary_size = 129280;
  spec.max_context = 163840;
  spec.layer_kinds = {
      {"dense", attention, model::DenseFeedForward{.intermediate_size = 18432}},
      {"moe", attention,
       model::MixtureOfExperts{.expert_count = 256,
                               .experts_per_token = 8,
                               .expert_intermediate_size = 2048,
                               .shared_intermediate_size = 2048}}};
  spec.layer_kind_indexes.assign(61, 1);
  for (size_t i = 0; i < 3; ++i) spec.layer_kind_indexes[i] = 0;
  return spec;
}

inline model::ModelGraphSpec Mixtral8x7b() {
  model::ModelGraphSpec spec;
  spec.hidden_size = 4096;
  spec.vocabulary_size = 32000;
  spec.max_context = 32768;
  spec.layer_kinds = {
      {"moe",
       model::GroupedQueryAttention{
           .query_heads = 32, .kv_heads = 8, .head_size = 128},
       model::MixtureOfExperts{.expert_count = 8,
                               .experts_per_token = 2,
                               .expert_intermediate_size = 14336}}};
  spec.layer_kind_indexes.assign(32, 0);
  return spec;
}

}  // namespace mansard::testing
