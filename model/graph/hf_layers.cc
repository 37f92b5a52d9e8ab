#include "model/graph/hf_layers.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_names.h"
#include "model/graph/hf_windows.h"

namespace mansard::model {
namespace {

absl::string_view RecurrentTag(StateRule rule) {
  switch (rule) {
    case StateRule::kDecay:
      return "lightning";
    case StateRule::kGatedDelta:
      return "deltanet";
    case StateRule::kKeyGatedDelta:
      return "kda";
    case StateRule::kMamba:
      return "mamba";
    case StateRule::kMamba2:
      return "mamba2";
  }
  return "";
}

// Empty: attention to all earlier positions, which most layers have.
absl::string_view AttentionTag(const Attention& attention) {
  if (std::holds_alternative<CompressedAttention>(attention)) {
    return "compressed";
  }
  if (std::holds_alternative<CrossAttention>(attention)) return "cross";
  if (const auto* grouped = std::get_if<GroupedQueryAttention>(&attention)) {
    if (grouped->sliding_window > 0) return "window";
    if (grouped->chunk > 0) return "chunk";
  }
  return "";
}

std::string KindName(const LayerKind& kind) {
  std::string name;
  const auto append = [&name](absl::string_view tag) {
    if (!name.empty() && !tag.empty()) name += "-";
    name.append(tag.data(), tag.size());
  };
  if (kind.recurrent.has_value()) append(RecurrentTag(kind.recurrent->rule));
  if (kind.attention.has_value()) {
    append(AttentionTag(*kind.attention));
    if (kind.recurrent.has_value()) append("attention");
  }
  if (std::holds_alternative<MixtureOfExperts>(kind.feed_forward)) {
    append("moe");
  }
  if (!name.empty()) return name;
  if (!kind.has_feed_forward()) return "attention";
  return kind.has_mixer() ? "dense" : "mlp";
}

bool IsUnrotated(const LayerKind& kind) {
  if (!kind.attention.has_value()) return false;
  const auto* grouped = std::get_if<GroupedQueryAttention>(&*kind.attention);
  return grouped != nullptr && grouped->nope_head_size == grouped->head_size;
}

bool IsTaken(const std::string& name, const ModelGraphSpec& spec) {
  return std::any_of(
      spec.layer_kinds.begin(), spec.layer_kinds.end(),
      [&name](const LayerKind& kind) { return kind.name == name; });
}

void ReadFeedForwards(HfFile& file, int64_t layer_count, int64_t hidden_size,
                      LayerParts& parts) {
  parts.experts = ReadExperts(file);
  parts.has_experts.resize(static_cast<size_t>(layer_count));
  if (parts.experts.expert_count > 0) {
    parts.has_experts = ReadExpertLayers(file, layer_count);
  }
  const bool any_dense =
      std::find(parts.has_experts.begin(), parts.has_experts.end(), false) !=
      parts.has_experts.end();
  if (any_dense || layer_count == 0) {
    parts.dense = ReadDense(file, hidden_size);
  } else {
    file.Ignore(kIntermediateKey);
    file.Ignore(file.family().intermediate_key);
  }
}

// By `use_parallel_residual` and Falcon's keys.
void SetParallel(HfFile& file, LayerKind& layer) {
  switch (file.family().parallel) {
    case ParallelRule::kNone:
      return;
    case ParallelRule::kOneNorm:
      layer.parallel = true;
      return;
    case ParallelRule::kTwoNorms:
      layer.parallel = file.BooleanOr("use_parallel_residual", true);
      layer.parallel_norms = layer.parallel;
      return;
    case ParallelRule::kFalcon:
      if (file.BooleanOr("new_decoder_architecture", false)) {
        file.Ignore("parallel_attn");
        layer.parallel = true;
        layer.parallel_norms =
            file.Optional("num_ln_in_parallel_attn", 1, 2).value_or(2) == 2;
        return;
      }
      file.Ignore("num_ln_in_parallel_attn");
      layer.parallel = file.BooleanOr("parallel_attn", true);
      return;
  }
}

}  // namespace

int64_t ReadLayerCount(HfFile& file) {
  const int64_t absent = file.family().sizes.layers;
  if (file.nested() && absent > 0) {
    return file.IntegerOr(kLayersKey, absent, kMaxHfLayers);
  }
  return file.Required(kLayersKey, kMaxHfLayers);
}

int KindIndex(LayerKind kind, ModelGraphSpec& spec) {
  const std::string wanted = kind.name.empty() ? KindName(kind) : kind.name;
  for (size_t i = 0; i < spec.layer_kinds.size(); ++i) {
    kind.name = spec.layer_kinds[i].name;
    if (kind == spec.layer_kinds[i]) return static_cast<int>(i);
  }
  kind.name = wanted;
  if (IsTaken(kind.name, spec) && IsUnrotated(kind)) kind.name += "-nope";
  // Starts at the first number that may be free, so that many kinds stay cheap.
  const auto alike =
      std::count_if(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                    [&wanted](const LayerKind& other) {
                      return absl::StartsWith(other.name, wanted);
                    });
  for (auto number = alike + 1; IsTaken(kind.name, spec); ++number) {
    kind.name = absl::StrCat(wanted, "-", number);
  }
  spec.layer_kinds.push_back(std::move(kind));
  return static_cast<int>(spec.layer_kinds.size()) - 1;
}

void AddLayer(LayerKind kind, ModelGraphSpec& spec) {
  spec.layer_kind_indexes.push_back(KindIndex(std::move(kind), spec));
}

void AddMtp(int64_t modules, const std::vector<LayerKind>& layers,
            ModelGraphSpec& spec) {
  if (modules == 0 || layers.empty()) return;
  spec.mtp.modules = static_cast<int>(modules);
  for (const LayerKind& layer : layers) {
    spec.mtp.layer_kind_indexes.push_back(KindIndex(layer, spec));
  }
}

LayerKind BareLayer(HfFile& file) {
  LayerKind layer;
  layer.norms = file.family().norms;
  SetParallel(file, layer);
  return layer;
}

int64_t ReadMtpModules(HfFile& file) {
  constexpr absl::string_view kKeys =
      "num_nextn_predict_layers|mtp_num_hidden_layers";
  switch (file.family().mtp) {
    case MtpRule::kNone:
      return 0;
    case MtpRule::kUnused: {
      const int64_t modules = file.Optional(kKeys, 0, kMaxHfHeads).value_or(0);
      if (modules > 0) {
        file.Note(absl::StrCat("num_nextn_predict_layers is ", modules, ": ",
                               file.architecture(),
                               " has no such layers; not counted"));
      }
      return 0;
    }
    case MtpRule::kLayers:
      return file.Optional(kKeys, 0, kMaxHfHeads).value_or(0);
    case MtpRule::kModules: {
      constexpr absl::string_view kModules = "num_mtp_modules";
      if (!file.Has(kModules)) return 0;
      const bool used = file.BooleanOr("use_mtp", true);
      const int64_t modules =
          file.Optional(kModules, 0, kMaxHfHeads).value_or(0);
      return used ? modules : 0;
    }
  }
  return 0;
}

LayerKind LayerAt(const HfFamily& family, const LayerParts& parts, size_t i) {
  LayerKind layer = parts.bare;
  layer.attention = parts.attention;
  if (auto* grouped = std::get_if<GroupedQueryAttention>(&*layer.attention)) {
    const bool windowed = parts.windows.layers[i];
    if (windowed) grouped->sliding_window = parts.windows.size;
    const bool unrotated =
        !parts.rotated[i] ||
        (family.full_layers_unrotated && !windowed && parts.windows.size > 0);
    if (unrotated) grouped->nope_head_size = grouped->head_size;
  }
  if (parts.has_experts[i]) {
    layer.feed_forward = parts.experts;
  } else {
    layer.feed_forward = parts.dense;
  }
  return layer;
}

LayerParts ReadLayerParts(HfFile& file, const ModelGraphSpec& spec) {
  const HfFamily& family = file.family();
  const int64_t layer_count = ReadLayerCount(file);
  LayerParts parts;
  parts.bare = BareLayer(file);
  switch (family.attention) {
    case AttentionRule::kGrouped:
      parts.attention = ReadAttention(file, spec.hidden_size);
      break;
    case AttentionRule::kLatent:
      parts.attention = ReadLatentAttention(file, spec.hidden_size);
      break;
  }
  CheckFixedBiases(file);
  parts.windows = ReadWindows(file, layer_count, spec.max_context);
  parts.rotated.assign(static_cast<size_t>(layer_count), true);
  if (family.nope_interval > 0) {
    parts.rotated = ReadRotatedLayers(file, layer_count, family.nope_interval);
  }
  ReadFeedForwards(file, layer_count, spec.hidden_size, parts);
  return parts;
}

void ReadMtp(HfFile& file, const LayerKind& last, ModelGraphSpec& spec) {
  const int64_t modules = ReadMtpModules(file);
  int64_t layers = 1;
  if (file.family().mtp == MtpRule::kModules) {
    layers =
        file.Optional("mtp_transformer_layers", 1, kMaxHfLayers).value_or(1);
  }
  AddMtp(modules, std::vector<LayerKind>(static_cast<size_t>(layers), last),
         spec);
}

void ReadLayers(HfFile& file, ModelGraphSpec& spec) {
  const LayerParts parts = ReadLayerParts(file, spec);
  const size_t layer_count = parts.has_experts.size();
  LayerKind last;
  for (size_t i = 0; i < layer_count; ++i) {
    last = LayerAt(file.family(), parts, i);
    AddLayer(last, spec);
  }
  ReadMtp(file, last, spec);
}

}  // namespace mansard::model
