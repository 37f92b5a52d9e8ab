// Kimi Linear and Kimi K3: Kimi Delta Attention, latent attention, experts.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_hybrid_parts.h"
#include "model/graph/hf_hybrids.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_patterns.h"
#include "model/graph/hf_recurrent.h"

namespace mansard::model {
namespace {

// Experts on a narrower projection of the hidden state.
void ReadLatentWidth(HfFile& file, MixtureOfExperts& experts) {
  constexpr absl::string_view kKey = "routed_expert_hidden_size";
  experts.latent_size = file.Optional(kKey, 1, kMaxHfSize).value_or(0);
  if (experts.latent_size == 0) {
    file.Ignore("latent_moe_use_norm");
    return;
  }
  file.Note(absl::StrCat(kKey,
                         ": one projection to it and one back for all routed "
                         "experts; router and shared experts see the hidden "
                         "size"));
  experts.latent_norm = !file.IsOff("latent_moe_use_norm");
  if (experts.latent_norm) {
    file.Note(
        "latent_moe_use_norm: one norm of routed_expert_hidden_size "
        "weights before the way back");
  }
}

// Attention residuals: before mixer and feed-forward of each layer, and before
// the last norm, a softmax over the blocks' outputs with one learned query and
// one norm. After all layers are there.
void ReadAttentionResiduals(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKey = "attn_res_block_size";
  if (file.IsOff(kKey)) return;
  file.Required(kKey, kMaxHfLayers);
  for (LayerKind& kind : spec.layer_kinds) {
    kind.extra_parameters += 4 * spec.hidden_size;
  }
  spec.extra_parameters = 2 * spec.hidden_size;
  file.Note(absl::StrCat(kKey,
                         ": attention residuals count 4 x hidden_size weights "
                         "a layer and 2 x hidden_size before the last norm; "
                         "their work is not modelled"));
}

}  // namespace

void ReadKimiDeltaLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  const AttentionLayers attention_layers =
      ReadMixerPartition(file, "linear_attn_config.full_attn_layers",
                         "linear_attn_config.kda_layers", layer_count);
  LatentAttention attention = ReadLatentAttention(file, spec.hidden_size);
  attention.unrotated = !file.IsOff("mla_use_nope");
  if (attention.unrotated) {
    file.Note(
        "mla_use_nope: latent attention keeps qk_rope_head_dim in queries "
        "and cached keys, without rotation");
  }
  attention.output_gate = !file.IsOff("mla_use_output_gate");
  if (attention.output_gate) {
    file.Note(
        "mla_use_output_gate: one full-rank projection of the layer's "
        "input to the width of all value heads");
  }
  FeedForwards feed_forwards =
      ReadFeedForwards(file, spec.hidden_size, layer_count);
  if (feed_forwards.experts.expert_count > 0) {
    ReadLatentWidth(file, feed_forwards.experts);
  }
  AddHybridLayers(file, attention_layers, attention, ReadKimiDelta(file),
                  feed_forwards, spec);
  ReadAttentionResiduals(file, spec);
  ReadStateFormat(file, spec);
  const int64_t modules =
      file.Optional("num_nextn_predict_layers", 0, kMaxHfLayers).value_or(0);
  if (modules == 0 || spec.layer_kind_indexes.empty()) return;
  AddMtp(
      modules,
      {spec.layer_kinds[static_cast<size_t>(spec.layer_kind_indexes.back())]},
      spec);
}

}  // namespace mansard::model
