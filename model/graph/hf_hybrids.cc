#include "model/graph/hf_hybrids.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_hybrid_parts.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_patterns.h"
#include "model/graph/hf_recurrent.h"

namespace mansard::model {
namespace {

// Modules for the tokens after the next, which published checkpoints have
// whether or not the file says so.
int64_t ReadQwenMtpModules(HfFile& file) {
  constexpr absl::string_view kKeys =
      "mtp_num_hidden_layers|num_nextn_predict_layers";
  if (file.IsNull(kKeys)) {
    file.Note(absl::StrCat(
        "mtp_num_hidden_layers is absent: one module for the token after the "
        "next, as in the published checkpoints of this class"));
    return 1;
  }
  return file.Optional(kKeys, 0, kMaxHfLayers).value_or(0);
}

}  // namespace

void ReadGatedDeltaLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  const AttentionLayers attention_layers =
      ReadMixerInterval(file, "full_attention_interval", 4, layer_count);
  GroupedQueryAttention attention = ReadAttention(file, spec.hidden_size);
  attention.output_gate = file.IsNull("attn_output_gate") ||
                          file.BooleanOr("attn_output_gate", true);
  const FeedForwards feed_forwards =
      ReadFeedForwards(file, spec.hidden_size, layer_count);
  AddHybridLayers(file, attention_layers, attention, ReadGatedDelta(file),
                  feed_forwards, spec);
  ReadStateFormat(file, spec);
  const int64_t modules = ReadQwenMtpModules(file);
  if (modules == 0 || feed_forwards.has_experts.empty()) return;
  LayerKind layer = BareLayer(file);
  layer.attention = attention;
  layer.feed_forward = feed_forwards.Of(feed_forwards.has_experts.size() - 1);
  AddMtp(modules, {std::move(layer)}, spec);
  spec.mtp.own_embedding =
      !file.IsNull("mtp_use_dedicated_embeddings") &&
      file.BooleanOr("mtp_use_dedicated_embeddings", false);
}

void ReadPeriodicMambaLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  const AttentionLayers attention_layers = ReadPeriod(
      file, {"attn_layer_period", "attn_layer_offset", 8, 4}, layer_count);
  std::vector<bool> has_experts = ReadPeriod(
      file, {"expert_layer_period", "expert_layer_offset", 2, 1}, layer_count);
  // The class makes one expert a dense feed-forward.
  if (!file.IsNull("num_experts") &&
      file.Optional("num_experts", 1, kMaxHfHeads) == 1) {
    has_experts.assign(has_experts.size(), false);
    file.Ignore("num_experts_per_tok");
  }
  const Attention attention = ReadAttention(file, spec.hidden_size);
  const RecurrentMixer mamba =
      ReadMamba(file, kJambaMambaKeys, spec.hidden_size);
  AddHybridLayers(
      file, attention_layers, attention, mamba,
      ReadFeedForwards(file, spec.hidden_size, std::move(has_experts)), spec);
  ReadStateFormat(file, spec);
}

void ReadGraniteHybridLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  AttentionLayers attention_layers(static_cast<size_t>(layer_count));
  if (file.IsNull("layer_types|layers_block_type")) {
    file.NoteDefault("layer_types", "Mamba 2 in every layer");
  } else {
    attention_layers =
        ReadMixerWords(file, "layer_types|layers_block_type", layer_count);
  }
  GroupedQueryAttention attention;
  if (Any(attention_layers, true)) {
    attention = ReadAttention(file, spec.hidden_size);
    const std::optional<std::string> position =
        file.OptionalString("position_embedding_type");
    if (position != "rope") attention.nope_head_size = attention.head_size;
  } else {
    IgnoreAttention(file);
  }
  RecurrentMixer recurrent;
  if (Any(attention_layers, false)) {
    recurrent = ReadMamba2(file, kHybridMambaKeys, spec.hidden_size);
    ReadStateFormat(file, spec);
  } else {
    IgnoreMamba2(file, kHybridMambaKeys);
  }
  FeedForwards feed_forwards;
  if (file.Has("num_local_experts") && file.IsOff("num_local_experts")) {
    // The shared experts alone are a dense feed-forward.
    file.Ignore("num_local_experts|num_experts_per_tok|intermediate_size");
    feed_forwards.has_experts.assign(static_cast<size_t>(layer_count), false);
    feed_forwards.dense.intermediate_size =
        file.IntegerOr("shared_intermediate_size", 1024, kMaxHfSize);
  } else {
    feed_forwards = ReadFeedForwards(file, spec.hidden_size, layer_count);
  }
  AddHybridLayers(file, attention_layers, attention, recurrent, feed_forwards,
                  spec);
}

void ReadBambaLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  const AttentionLayers attention_layers =
      ReadAttentionIndices(file, "attn_layer_indices", layer_count);
  const Attention attention = ReadAttention(file, spec.hidden_size);
  const RecurrentMixer mamba =
      ReadMamba2(file, kHybridMambaKeys, spec.hidden_size);
  AddHybridLayers(file, attention_layers, attention, mamba,
                  ReadFeedForwards(file, spec.hidden_size, layer_count), spec);
  ReadStateFormat(file, spec);
}

void ReadSideBySideLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  if (!file.IsOff("attn_layer_indices")) {
    file.Complain("attn_layer_indices",
                  absl::StrCat("is ", file.Describe("attn_layer_indices"),
                               "; only attention in every layer is read"));
  }
  LayerKind layer = BareLayer(file);
  layer.attention = ReadAttention(file, spec.hidden_size);
  layer.recurrent = ReadMamba2(file, kFalconMambaKeys, spec.hidden_size);
  layer.feed_forward = ReadDense(file, spec.hidden_size);
  // in_proj goes by mamba_proj_bias, out_proj by projectors_bias.
  const bool out_bias = !file.IsNull("projectors_bias") &&
                        file.BooleanOr("projectors_bias", false);
  if (out_bias != layer.recurrent->projection_bias) {
    file.Complain("projectors_bias",
                  absl::StrCat("is ", out_bias ? "true" : "false",
                               ", but mamba_proj_bias is not; both alike are "
                               "read"));
  }
  ReadStateFormat(file, spec);
  for (int64_t i = 0; i < layer_count; ++i) AddLayer(layer, spec);
}

void ReadLightningLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  const GroupedQueryAttention attention = ReadAttention(file, spec.hidden_size);
  AttentionLayers attention_layers;
  if (!file.IsNull("attn_type_list")) {
    attention_layers = ReadMixerFlags(file, "attn_type_list", layer_count);
  } else if (!file.IsNull("layer_types")) {
    attention_layers = ReadMixerWords(file, "layer_types", layer_count);
  } else {
    // configuration_minimax.py.
    file.NoteDefault("layer_types",
                     "attention and lightning attention in turn");
    for (int64_t i = 0; i < layer_count; ++i) {
      attention_layers.push_back(i % 2 == 0);
    }
  }
  FeedForwards feed_forwards =
      ReadFeedForwards(file, spec.hidden_size, layer_count);
  // Shared experts come with a gate (`shared_moe_mode`).
  feed_forwards.experts.shared_expert_gate =
      feed_forwards.experts.shared_intermediate_size > 0;
  AddHybridLayers(file, attention_layers, attention, Lightning(attention),
                  feed_forwards, spec);
  ReadStateFormat(file, spec);
}

}  // namespace mansard::model
