#include "model/graph/hf_attention.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_names.h"

namespace mansard::model {
namespace {

int64_t ReadQueryHeads(HfFile& file) {
  const int64_t heads = file.family().sizes.heads;
  if (file.nested() && heads > 0) {
    return file.IntegerOr(kQueryHeadsKey, heads, kMaxHfHeads);
  }
  return file.Required(kQueryHeadsKey, kMaxHfHeads);
}

// 0: could not be read.
int64_t ReadWrittenKvHeads(HfFile& file, int64_t query_heads) {
  if (!file.IsNull(kKvHeadsKey)) {
    return file.Required(kKvHeadsKey, kMaxHfHeads);
  }
  if (file.Has(kKvHeadsKey)) {
    file.Note("num_key_value_heads is null: one KV head a query head");
    return query_heads;
  }
  const int64_t kv_heads = file.family().kv_heads;
  if (kv_heads == 0) {
    file.NoteDefault(kKvHeadsKey, "one KV head a query head");
    return query_heads;
  }
  file.NoteDefault(kKvHeadsKey, absl::StrCat(kv_heads));
  return kv_heads;
}

// Falcon before its new decoder: one KV head, or as many as query heads, never
// what num_kv_heads says.
int64_t ReadFalconKvHeads(HfFile& file, int64_t query_heads) {
  if (file.BooleanOr("new_decoder_architecture", false)) {
    file.Ignore("multi_query");
    return ReadWrittenKvHeads(file, query_heads);
  }
  file.Ignore("num_kv_heads");
  return file.BooleanOr("multi_query", true) ? 1 : query_heads;
}

// 0: could not be read.
int64_t ReadKvHeads(HfFile& file, int64_t query_heads) {
  switch (file.family().kv_rule) {
    case KvHeadsRule::kWritten:
      return ReadWrittenKvHeads(file, query_heads);
    case KvHeadsRule::kMultiQuery:
      return file.BooleanOr("multi_query", true) ? 1 : query_heads;
    case KvHeadsRule::kGroups:
      if (!file.BooleanOr("multi_query_attention", false)) {
        file.Ignore("multi_query_group_num");
        return query_heads;
      }
      return file.IntegerOr("multi_query_group_num", 1, kMaxHfHeads);
    case KvHeadsRule::kFalcon:
      return ReadFalconKvHeads(file, query_heads);
    case KvHeadsRule::kByLayer:
      return query_heads;
  }
  return 0;
}

// 0: could not be read.
int64_t ReadHeadSize(HfFile& file, int64_t hidden_size, int64_t query_heads) {
  const int64_t default_size = file.family().head_size;
  if (default_size > 0) {
    // A null would leave the class without a head size.
    return file.IntegerOr(kHeadSizeKey, default_size, kMaxHfHeads);
  }
  if (!file.IsNull(kHeadSizeKey)) {
    return file.Required(kHeadSizeKey, kMaxHfHeads);
  }
  if (hidden_size == 0 || query_heads == 0) return 0;
  if (hidden_size % query_heads != 0) {
    file.Complain(kHeadSizeKey,
                  absl::StrCat("is absent, and hidden_size, ", hidden_size,
                               ", is not a multiple of num_attention_heads, ",
                               query_heads));
    return 0;
  }
  file.NoteDefault(kHeadSizeKey,
                   absl::StrCat("hidden_size / num_attention_heads = ",
                                hidden_size / query_heads));
  return hidden_size / query_heads;
}

// Of a head; what is left is not rotated.
int ReadRotatedSize(HfFile& file, int64_t head_size) {
  const int percent = file.family().rotary_percent;
  if (percent == 0 || file.Is(file.family().unrotated)) return 0;
  const std::optional<int64_t> size =
      file.Optional("rotary_dim", 0, kMaxHfHeads);
  if (size.has_value()) {
    return static_cast<int>(std::min(*size, head_size));
  }
  const std::optional<double> share = file.OptionalNumber(
      "partial_rotary_factor|rotary_pct|rope_parameters.partial_rotary_factor|"
      "rope_pct",
      0, 1);
  if (!share.has_value() && percent != 100) {
    file.NoteDefault("partial_rotary_factor", absl::StrCat(percent, " %"));
  }
  return static_cast<int>(static_cast<double>(head_size) *
                          share.value_or(percent / 100.0));
}

// A switch that the class does not read may only say what the class does.
void CheckFixedBias(HfFile& file, absl::string_view key, bool fixed) {
  if (!file.Has(key)) return;
  if (file.BooleanOr(key, fixed) == fixed) {
    file.Ignore(key);
    return;
  }
  file.Complain(key, absl::StrCat("is ", fixed ? "false" : "true", "; ",
                                  file.architecture(),
                                  " does not read the key and always ",
                                  fixed ? "has" : "lacks", " the bias"));
}

// `heads` and `kv_heads` 0: could not be read.
void CheckHeads(HfFile& file, const GroupedQueryAttention& attention) {
  const int64_t heads = attention.query_heads;
  const int64_t kv_heads = attention.kv_heads;
  if (heads > 0 && kv_heads > 0 && heads % kv_heads != 0) {
    file.Complain(kKvHeadsKey,
                  absl::StrCat("is ", kv_heads,
                               "; must divide num_attention_heads, ", heads));
  }
  if (heads * attention.head_size > kMaxHfSize) {
    file.Complain(kHeadSizeKey,
                  absl::StrCat("is ", attention.head_size,
                               "; times num_attention_heads, ", heads,
                               ", it may be up to ", kMaxHfSize));
  }
}

}  // namespace

GroupedQueryAttention ReadAttention(HfFile& file, int64_t hidden_size) {
  const HfFamily& family = file.family();
  const int64_t heads = ReadQueryHeads(file);
  GroupedQueryAttention attention;
  attention.query_heads = static_cast<int>(heads);
  attention.kv_heads = static_cast<int>(ReadKvHeads(file, heads));
  attention.head_size =
      static_cast<int>(ReadHeadSize(file, hidden_size, heads));
  CheckHeads(file, attention);
  attention.nope_head_size =
      attention.head_size - ReadRotatedSize(file, attention.head_size);
  attention.qkv_bias = file.Is(family.qkv_bias);
  attention.output_bias = file.Is(family.output_bias);
  if (family.qk_norm != QkNorm::kNone && file.Is(family.has_qk_norm)) {
    attention.qk_norm = family.qk_norm;
  }
  attention.sinks = family.sinks;
  return attention;
}

void CheckFixedBiases(HfFile& file) {
  const HfFamily& family = file.family();
  if (family.qkv_bias.keys.empty() && family.output_bias.keys.empty()) {
    CheckFixedBias(file, "attention_bias", family.qkv_bias.absent);
  }
  if (family.mlp_bias.keys.empty()) {
    CheckFixedBias(file, "mlp_bias", family.mlp_bias.absent);
  }
}

LatentAttention ReadLatentAttention(HfFile& file, int64_t hidden_size) {
  const HfLatent& row = file.family().latent;
  LatentAttention attention;
  attention.query_heads = static_cast<int>(ReadQueryHeads(file));
  const auto size = [&file](absl::string_view key, int absent) {
    return static_cast<int>(absent > 0
                                ? file.IntegerOr(key, absent, kMaxHfHeads)
                                : file.Required(key, kMaxHfHeads));
  };
  attention.kv_lora_rank = size("kv_lora_rank", row.kv_rank);
  attention.nope_head_size = size("qk_nope_head_dim", row.nope);
  attention.rope_head_size = size("qk_rope_head_dim", row.rope);
  if (file.Has("v_head_dim") || row.value > 0 || attention.query_heads == 0) {
    attention.value_head_size = size("v_head_dim", row.value);
  } else {
    attention.value_head_size =
        static_cast<int>(hidden_size / attention.query_heads);
    file.NoteDefault("v_head_dim",
                     absl::StrCat("hidden_size / num_attention_heads = ",
                                  attention.value_head_size));
  }
  if (!file.Has("q_lora_rank") && row.query_rank > 0) {
    file.NoteDefault("q_lora_rank", absl::StrCat(row.query_rank));
    attention.query_lora_rank = row.query_rank;
  } else {
    // Null: queries are projected directly.
    attention.query_lora_rank = static_cast<int>(
        file.Optional("q_lora_rank", 1, kMaxHfHeads).value_or(0));
  }
  attention.bias = file.Is(file.family().qkv_bias);
  // Every head has its own key and value, and head_dim is not the width.
  file.Ignore("num_key_value_heads|head_dim|qk_head_dim");
  if (file.family().indexer) {
    SparseIndexer indexer;
    indexer.heads = size("index_n_heads", row.index_heads);
    indexer.head_size = size("index_head_dim", 128);
    indexer.top_k = file.IntegerOr("index_topk", 2048, kMaxHfTokens);
    attention.indexer = indexer;
  }
  return attention;
}

}  // namespace mansard::model
