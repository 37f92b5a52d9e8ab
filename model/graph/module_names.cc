#include "model/graph/module_names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// Below each of `stems`, the same names.
void AddBelow(std::vector<ModuleSpelling>& all,
              const std::vector<std::string>& stems,
              const std::vector<ModuleSpelling>& names) {
  for (const std::string& stem : stems) {
    for (const ModuleSpelling& spelling : names) {
      ModuleSpelling whole;
      for (const std::string& name : spelling) {
        whole.push_back(absl::StrCat(stem, name.empty() ? "" : ".", name));
      }
      all.push_back(std::move(whole));
    }
  }
}

std::vector<ModuleSpelling> AttentionInputs(const Attention& attention) {
  std::vector<ModuleSpelling> all;
  if (std::holds_alternative<LatentAttention>(attention)) {
    AddBelow(all, {"self_attn"},
             {{"kv_b_proj", "q_b_proj", "q_a_proj", "kv_a_proj_with_mqa"},
              {"q_proj", "kv_b_proj", "kv_a_proj_with_mqa"},
              {"kv_b_proj", "q_b_proj", "fused_qkv_a_proj_with_mqa"}});
    return all;
  }
  if (std::holds_alternative<CompressedAttention>(attention)) {
    AddBelow(all, {"attn", "self_attn"},
             {{"wq_b", "wq_a", "wkv"}, {"q_b_proj", "q_a_proj", "kv_proj"}});
    return all;
  }
  AddBelow(all,
           {"self_attn", "attn", "attention", "mixer", "cross_attn",
            "self_attention"},
           {{"q_proj", "k_proj", "v_proj"}, {"qkv_proj"}, {"query_key_value"}});
  AddBelow(all, {"attn", "norm_attn_norm.attn"}, {{"Wqkv"}, {"c_attn"}});
  AddBelow(all, {"attention"}, {{"wqkv"}, {"wq", "wk", "wv"}});
  return all;
}

std::vector<ModuleSpelling> AttentionOutputs(const Attention& attention) {
  std::vector<ModuleSpelling> all;
  if (std::holds_alternative<CompressedAttention>(attention)) {
    AddBelow(all, {"attn", "self_attn"},
             {{"wo_a", "wo_b"}, {"o_a_proj", "o_b_proj"}, {"o_proj"}});
    return all;
  }
  AddBelow(all,
           {"self_attn", "attn", "attention", "mixer", "cross_attn",
            "self_attention", "norm_attn_norm.attn"},
           {{"o_proj"}, {"out_proj"}, {"dense"}, {"c_proj"}, {"wo"}});
  return all;
}

std::vector<ModuleSpelling> RecurrentModules() {
  std::vector<ModuleSpelling> all;
  AddBelow(all, {"mixer", "mamba", "linear_attn", "temporal_block"},
           {{"in_proj", "out_proj"}});
  AddBelow(all, {"linear_attn"},
           {{"in_proj_qkvz", "out_proj", "in_proj_ba"},
            {"in_proj_qkv", "in_proj_z", "out_proj", "in_proj_b", "in_proj_a"},
            {"q_proj", "k_proj", "v_proj", "o_proj"}});
  AddBelow(all, {"self_attn"},
           {{"q_proj", "k_proj", "v_proj", "o_proj"},
            {"qkv_proj", "out_proj", "output_gate"}});
  return all;
}

// Where a feed-forward stands below its layer.
std::vector<std::string> FeedForwardStems() {
  return {"mlp", "feed_forward", "block_sparse_moe", "mixer", "ffn", "moe"};
}

std::vector<ModuleSpelling> FeedForwardNames() {
  return {{"gate_proj", "up_proj", "down_proj"},
          {"gate_up_proj", "down_proj"},
          {"up_proj", "down_proj"},
          {"w1", "w2", "w3"},
          {"fc1", "fc2"},
          {"c_fc", "c_proj"},
          {"dense_h_to_4h", "dense_4h_to_h"}};
}

std::vector<std::string> Below(const std::vector<std::string>& stems,
                               const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& stem : stems) {
    for (const std::string& name : names) {
      all.push_back(absl::StrCat(stem, ".", name));
    }
  }
  return all;
}

}  // namespace

std::vector<ModuleSpelling> ModuleSpellings(const LayerKind& kind,
                                            LinearClass linear, bool mlx) {
  if (!HasLinear(kind, linear)) return {};
  std::vector<ModuleSpelling> all;
  switch (linear) {
    case LinearClass::kAttentionInput:
      return AttentionInputs(*kind.attention);
    case LinearClass::kAttentionOutput:
      return AttentionOutputs(*kind.attention);
    case LinearClass::kRecurrent:
      return RecurrentModules();
    case LinearClass::kFeedForward:
      AddBelow(all, FeedForwardStems(), FeedForwardNames());
      return all;
    case LinearClass::kExperts: {
      AddBelow(all, Below(FeedForwardStems(), {"experts.0"}),
               {{"gate_proj", "up_proj", "down_proj"},
                {"up_proj", "down_proj"},
                {"w1", "w2", "w3"}});
      if (mlx) {
        AddBelow(all, Below(FeedForwardStems(), {"switch_mlp"}),
                 {{"gate_proj", "up_proj", "down_proj"}});
      }
      AddBelow(all, Below(FeedForwardStems(), {"experts"}),
               {{"gate_proj", "up_proj", "down_proj"},
                {"gate_up_proj", "down_proj"},
                {""}});
      AddBelow(all, {"ffn.experts.mlp"}, {{"w1", "v1", "w2"}});
      return all;
    }
    case LinearClass::kSharedExperts:
      AddBelow(all,
               Below(FeedForwardStems(),
                     {"shared_experts", "shared_expert", "shared_mlp"}),
               FeedForwardNames());
      return all;
    case LinearClass::kLatentExperts:
      AddBelow(all, FeedForwardStems(),
               {{"fc1_latent_proj", "fc2_latent_proj"}});
      return all;
    case LinearClass::kRouter:
      AddBelow(all, FeedForwardStems(),
               {{"gate"}, {"router"}, {"router.layer"}, {"router.gate"}});
      return all;
    case LinearClass::kHead:
    case LinearClass::kEmbedding:
      break;
  }
  return all;
}

ModuleSpelling TableNames(LinearClass linear) {
  if (linear == LinearClass::kHead) {
    return {"lm_head", "language_model.lm_head", "embed_out", "output",
            "model.lm_head"};
  }
  return {"model.embed_tokens", "model.language_model.embed_tokens",
          "language_model.model.embed_tokens", "backbone.embeddings",
          "transformer.wte"};
}

std::vector<std::string> LayerPrefixes() {
  return {"model.language_model.layers.",
          "language_model.model.layers.",
          "model.decoder.layers.",
          "backbone.layers.",
          "transformer.blocks.",
          "transformer.h.",
          "transformer.layers.",
          "gpt_neox.layers.",
          "model.layers.",
          "layers."};
}

bool IsOutsideLinears(absl::string_view module) {
  for (absl::string_view word : {"norm",        "embed",   "vision",
                                 "visual",      "audio",   "projector",
                                 "conv1d",      "bias",    "rotary",
                                 "rope",        "image",   "patch",
                                 "tower",       "speech",  "sinks",
                                 "mtp",         "eh_proj", "shared_expert_gate",
                                 "indexer",     "dt_proj", "x_proj",
                                 "multi_modal", "lm_head"}) {
    if (absl::StrContains(module, word)) return true;
  }
  return false;
}

}  // namespace mansard::model
