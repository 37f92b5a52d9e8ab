// Gemma 4: two kinds of attention with heads of their own, and what the small
// and the sparse models add.
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_names.h"
#include "model/graph/hf_specials.h"

namespace mansard::model {
namespace {

// Layers without window: wider heads, other KV heads, and values that are the
// keys.
GroupedQueryAttention FullAttention(HfFile& file,
                                    const GroupedQueryAttention& windowed) {
  GroupedQueryAttention full = windowed;
  full.sliding_window = 0;
  full.head_size =
      static_cast<int>(file.IntegerOr("global_head_dim", 512, kMaxHfHeads));
  const double share =
      file.OptionalNumber(
              "rope_parameters.full_attention.partial_rotary_factor", 0, 1)
          .value_or(0.25);
  full.nope_head_size =
      full.head_size - static_cast<int>(share * full.head_size);
  full.value_from_key = file.BooleanOr("attention_k_eq_v", false);
  constexpr absl::string_view kKey = "num_global_key_value_heads";
  if (full.value_from_key && !file.IsNull(kKey)) {
    full.kv_heads = static_cast<int>(file.Required(kKey, kMaxHfHeads));
  } else {
    file.Ignore(kKey);
  }
  if (full.kv_heads > 0 && full.query_heads % full.kv_heads != 0) {
    file.Complain(kKey, absl::StrCat("is ", full.kv_heads,
                                     "; must divide num_attention_heads, ",
                                     full.query_heads));
  }
  return full;
}

// The dense part stands beside the experts, as a shared one.
MixtureOfExperts ExpertsBeside(HfFile& file, const DenseFeedForward& dense) {
  constexpr absl::string_view kKeys =
      "num_experts|top_k_experts|moe_intermediate_size|"
      "expert_intermediate_size";
  if (!file.BooleanOr("enable_moe_block", false)) {
    file.Ignore(kKeys);
    return {};
  }
  MixtureOfExperts experts = ReadExperts(file);
  experts.shared_intermediate_size = dense.intermediate_size;
  experts.separate_norms = true;
  return experts;
}

// Embeddings that enter every layer, and the part of the layers that share KV.
int64_t ReadSharing(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kInput = "hidden_size_per_layer_input";
  if (file.Has(kInput)) {
    spec.layer_input_size = file.Optional(kInput, 0, kMaxHfSize).value_or(0);
  } else {
    spec.layer_input_size = file.IntegerOr(kInput, 256, kMaxHfSize);
  }
  constexpr absl::string_view kRows = "vocab_size_per_layer_input";
  if (spec.layer_input_size > 0) {
    spec.layer_input_rows = file.IntegerOr(kRows, 262144, kMaxHfVocabulary);
  } else {
    file.Ignore(kRows);
  }
  return file.Optional("num_kv_shared_layers", 0, kMaxHfLayers).value_or(0);
}

}  // namespace

void ReadGemma4Layers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  const GroupedQueryAttention windowed = ReadAttention(file, spec.hidden_size);
  const GroupedQueryAttention full = FullAttention(file, windowed);
  CheckFixedBiases(file);
  LayerWindows windows = ReadWindows(file, layer_count, spec.max_context);
  if (!windows.layers.empty() && windows.layers.back()) {
    file.Note("the last layer has no window, as the class always has it");
    windows.layers.back() = false;
  }
  DenseFeedForward dense = ReadDense(file, spec.hidden_size);
  const MixtureOfExperts experts = ExpertsBeside(file, dense);
  const int64_t sharing = ReadSharing(file, spec);
  const bool double_wide = file.BooleanOr("use_double_wide_mlp", false);
  for (int64_t i = 0; i < layer_count; ++i) {
    LayerKind layer = BareLayer(file);
    GroupedQueryAttention attention = full;
    if (windows.layers[static_cast<size_t>(i)]) {
      attention = windowed;
      attention.sliding_window = windows.size;
    }
    DenseFeedForward own = dense;
    layer.extra_parameters = 1;  // A scale of the layer's output.
    attention.shared_kv = i >= layer_count - sharing;
    // There are no keys of its own to take values from.
    attention.value_from_key = attention.value_from_key && !attention.shared_kv;
    if (attention.shared_kv && double_wide) own.intermediate_size *= 2;
    layer.attention = attention;
    layer.feed_forward = own;
    if (experts.expert_count > 0) {
      layer.feed_forward = experts;
      // The router's scales of its input and of each expert.
      layer.extra_parameters += spec.hidden_size + experts.expert_count;
    }
    AddLayer(std::move(layer), spec);
  }
  ReadMtpModules(file);
}

}  // namespace mansard::model
