#include "model/graph/hf_specials.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_names.h"

namespace mansard::model {
namespace {

// Llama 3.2 Vision's table has a few rows for images beyond the vocabulary.
constexpr int64_t kMllamaExtraRows = 8;
// One scalar each for the attention's and the feed-forward's output.
constexpr int64_t kCrossGates = 2;

// Of one block of Nemotron NAS, as the class rounds it.
int64_t NasIntermediate(double multiple, int64_t hidden_size) {
  constexpr int64_t kRounding = 256;
  const auto size =
      static_cast<int64_t>(2 * multiple * static_cast<double>(hidden_size) / 3);
  return (size + kRounding - 1) / kRounding * kRounding;
}

// Structure that no part of a layer stands for.
void RefuseOn(const JsonObject& block, absl::string_view key,
              Violations& violations) {
  if (block.IsOff(key)) return;
  violations.Add(absl::StrCat(block.path(), key),
                 absl::StrCat("is ", block.Describe(key),
                              "; only false and null are known"));
}

std::optional<Attention> NasAttention(const JsonObject& block,
                                      GroupedQueryAttention attention,
                                      Violations& violations) {
  RefuseOn(block, "replace_with_linear", violations);
  RefuseOn(block, "sparsify", violations);
  RefuseOn(block, "num_sink_tokens", violations);
  if (!block.IsOff("no_op")) return std::nullopt;
  const auto group =
      block.Integer("n_heads_in_group", 1, kMaxHfHeads, violations);
  if (!block.IsNull("window_length")) {
    attention.sliding_window =
        block.Integer("window_length", 1, kMaxHfTokens, violations).value_or(0);
  }
  if (!group.has_value()) return attention;
  if (attention.query_heads % *group != 0) {
    violations.Add(
        absl::StrCat(block.path(), "n_heads_in_group"),
        absl::StrCat("is ", *group, "; must divide num_attention_heads, ",
                     attention.query_heads));
    return attention;
  }
  attention.kv_heads = attention.query_heads / static_cast<int>(*group);
  return attention;
}

FeedForward NasFeedForward(const JsonObject& block, DenseFeedForward dense,
                           int64_t hidden_size, Violations& violations) {
  RefuseOn(block, "replace_with_linear", violations);
  RefuseOn(block, "sparsify", violations);
  if (!block.IsOff("no_op")) return NoFeedForward{};
  const auto multiple = block.Number("ffn_mult", 0, kMaxHfHeads, violations);
  dense.intermediate_size = NasIntermediate(multiple.value_or(1), hidden_size);
  if (multiple.has_value() &&
      (dense.intermediate_size < 1 || dense.intermediate_size > kMaxHfSize)) {
    violations.Add(absl::StrCat(block.path(), "ffn_mult"),
                   absl::StrCat("makes a width of ", dense.intermediate_size,
                                "; allowed: 1 to ", kMaxHfSize));
  }
  return dense;
}

// One per layer: whether its indexer is its own.
std::vector<bool> ReadIndexerTypes(HfFile& file, size_t layer_count) {
  std::vector<bool> own(layer_count, true);
  if (const auto types = file.OptionalStrings("indexer_types")) {
    file.Ignore("index_topk_pattern|index_topk_freq|index_skip_topk_offset");
    if (!file.CheckLength("indexer_types", types->size(),
                          static_cast<int64_t>(layer_count))) {
      return own;
    }
    for (size_t i = 0; i < layer_count; ++i) own[i] = (*types)[i] != "shared";
    return own;
  }
  if (const auto pattern = file.OptionalString("index_topk_pattern")) {
    file.Ignore("index_topk_freq|index_skip_topk_offset");
    if (!file.CheckLength("index_topk_pattern", pattern->size(),
                          static_cast<int64_t>(layer_count))) {
      return own;
    }
    for (size_t i = 0; i < layer_count; ++i) own[i] = (*pattern)[i] != 'S';
    return own;
  }
  const int64_t step =
      file.Optional("index_topk_freq", 1, kMaxHfLayers).value_or(1);
  const int64_t offset =
      file.Optional("index_skip_topk_offset", 0, kMaxHfLayers).value_or(2);
  for (size_t i = 0; i < layer_count; ++i) {
    const int64_t place = static_cast<int64_t>(i) - offset + 1;
    own[i] = std::max(place, int64_t{0}) % step == 0;
  }
  return own;
}

}  // namespace

void ReadOptLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t width =
      file.Optional("word_embed_proj_dim", 1, kMaxHfSize).value_or(0);
  if (width != spec.hidden_size) spec.embedding_size = width;
  const bool before = file.BooleanOr("do_layer_norm_before", true);
  const bool removed = !file.IsOff("_remove_final_layer_norm");
  spec.final_norm = before && !removed;
  ReadLayers(file, spec);
  if (before) return;
  file.Note("do_layer_norm_before is false: norms count behind each part");
  for (LayerKind& kind : spec.layer_kinds) kind.norms = NormPlacement::kAfter;
}

void ReadChunkedLayers(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKey = "attention_chunk_size";
  const LayerParts parts = ReadLayerParts(file, spec);
  int64_t chunk = 0;
  if (!file.Has(kKey)) {
    chunk = file.IntegerOr(kKey, 8192, kMaxHfTokens);
  } else {
    chunk = file.Optional(kKey, 1, kMaxHfTokens).value_or(0);
  }
  LayerKind last;
  for (size_t i = 0; i < parts.has_experts.size(); ++i) {
    last = LayerAt(file.family(), parts, i);
    auto& attention = std::get<GroupedQueryAttention>(*last.attention);
    if (parts.rotated[i]) {
      attention.chunk = chunk;
    } else {
      attention.qk_norm = QkNorm::kNone;
    }
    AddLayer(last, spec);
  }
  ReadMtp(file, last, spec);
}

void ReadCrossAttentionLayers(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKey = "cross_attention_layers";
  const LayerParts parts = ReadLayerParts(file, spec);
  std::vector<bool> cross(parts.has_experts.size());
  auto listed = file.OptionalIntegers(kKey, 0, kMaxHfLayers - 1);
  if (!listed.has_value()) {
    file.NoteDefault(kKey, "each fifth layer from the fourth on");
    listed.emplace();
    for (int64_t i = 3; i < static_cast<int64_t>(cross.size()); i += 5) {
      listed->push_back(i);
    }
  }
  for (const int64_t i : *listed) {
    if (i < static_cast<int64_t>(cross.size())) {
      cross[static_cast<size_t>(i)] = true;
    }
  }
  spec.extra_embedding_rows = kMllamaExtraRows;
  for (size_t i = 0; i < cross.size(); ++i) {
    LayerKind layer = LayerAt(file.family(), parts, i);
    if (cross[i]) {
      const auto& own = std::get<GroupedQueryAttention>(*layer.attention);
      layer.attention = CrossAttention{own.query_heads, own.kv_heads,
                                       own.head_size, QkNorm::kPerHead};
      layer.extra_parameters = kCrossGates;
    }
    AddLayer(std::move(layer), spec);
  }
}

void ReadBlockConfigLayers(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKey = "block_configs";
  const int64_t layer_count = ReadLayerCount(file);
  GroupedQueryAttention attention = ReadAttention(file, spec.hidden_size);
  DenseFeedForward dense;
  dense.gated = file.family().gated;
  dense.bias = file.Is(file.family().mlp_bias);
  CheckFixedBiases(file);
  // Each block says its own.
  file.Ignore("num_key_value_heads|intermediate_size");
  const auto blocks = file.OptionalObjects(kKey);
  if (!blocks.has_value()) {
    file.Complain(kKey, "is missing; must be a list of objects");
    return;
  }
  if (!file.CheckLength(kKey, blocks->size(), layer_count)) return;
  Violations& violations = file.violations();
  for (const JsonObject& block : *blocks) {
    LayerKind layer = BareLayer(file);
    const auto own_attention = block.Object("attention", violations);
    const auto own_ffn = block.Object("ffn", violations);
    if (!own_attention.has_value() || !own_ffn.has_value()) {
      violations.Add(block.path().substr(0, block.path().size() - 1),
                     "must have the objects attention and ffn");
      return;
    }
    layer.attention = NasAttention(*own_attention, attention, violations);
    layer.feed_forward =
        NasFeedForward(*own_ffn, dense, spec.hidden_size, violations);
    if (!layer.has_mixer() && !layer.has_feed_forward()) {
      file.Note("block_configs has layers without any part: left out");
      continue;
    }
    AddLayer(std::move(layer), spec);
  }
}

void ReadSharedIndexerLayers(HfFile& file, ModelGraphSpec& spec) {
  const LayerParts parts = ReadLayerParts(file, spec);
  const std::vector<bool> own =
      ReadIndexerTypes(file, parts.has_experts.size());
  LayerKind last;
  for (size_t i = 0; i < own.size(); ++i) {
    last = LayerAt(file.family(), parts, i);
    LayerKind layer = last;
    auto& attention = std::get<LatentAttention>(*layer.attention);
    if (!own[i]) attention.indexer->heads = attention.indexer->head_size = 0;
    AddLayer(std::move(layer), spec);
  }
  ReadMtp(file, last, spec);
}

}  // namespace mansard::model
