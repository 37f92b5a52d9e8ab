// DeepSeek-V4: attention to a window of single positions and to earlier ones in
// compressed form, experts in every layer, parallel residual streams.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_compressions.h"
#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_hybrids.h"
#include "model/graph/hf_layers.h"

namespace mansard::model {
namespace {

int ReadSize(HfFile& file, absl::string_view key, int64_t absent) {
  return static_cast<int>(file.IntegerOr(key, absent, kMaxHfHeads));
}

int ReadRotatedSize(HfFile& file, int head_size) {
  constexpr absl::string_view kKey = "qk_rope_head_dim";
  const std::optional<int64_t> size = file.Optional(kKey, 1, kMaxHfHeads);
  const std::optional<double> share =
      file.OptionalNumber("partial_rotary_factor", 0, 1);
  if (share.has_value() && !size.has_value()) {
    return static_cast<int>(head_size * *share);
  }
  constexpr int64_t kDefault = 64;
  if (!size.has_value()) file.NoteDefault(kKey, absl::StrCat(kDefault));
  const int64_t rotated = size.value_or(kDefault);
  if (head_size != 0 && rotated > head_size) {
    file.Complain(kKey, absl::StrCat("is ", rotated,
                                     "; may be up to head_dim, ", head_size));
  }
  return static_cast<int>(rotated);
}

// What all layers share. Absent keys: configuration_deepseek_v4.py.
CompressedAttention ReadWindowAttention(HfFile& file) {
  CompressedAttention attention;
  attention.query_heads = ReadSize(file, "num_attention_heads", 64);
  attention.head_size = ReadSize(file, "head_dim", 512);
  attention.rope_head_size = ReadRotatedSize(file, attention.head_size);
  attention.query_lora_rank = ReadSize(file, "q_lora_rank", 1024);
  attention.output_groups = ReadSize(file, "o_groups", 8);
  attention.output_lora_rank = ReadSize(file, "o_lora_rank", 1024);
  attention.sliding_window =
      file.IntegerOr("sliding_window", 128, kMaxHfTokens);
  if (file.IntegerOr("num_key_value_heads", 1, kMaxHfHeads) > 1) {
    file.Complain("num_key_value_heads",
                  absl::StrCat("is ", file.Describe("num_key_value_heads"),
                               "; must be 1: one head is key and value of all "
                               "query heads"));
  }
  if (attention.output_groups > 0 &&
      attention.query_heads % attention.output_groups != 0) {
    file.Complain("o_groups",
                  absl::StrCat("is ", attention.output_groups,
                               "; must divide num_attention_heads, ",
                               attention.query_heads));
  }
  return attention;
}

// "window-moe", "csa-moe-hash": the report's short names.
std::string KindName(Compression compression, bool hashed) {
  const absl::string_view hash = hashed ? "-hash" : "";
  switch (compression) {
    case Compression::kWindow:
      return absl::StrCat("window-moe", hash);
    case Compression::kSparse:
      return absl::StrCat("csa-moe", hash);
    case Compression::kHeavy:
      return absl::StrCat("hca-moe", hash);
  }
  return "";
}

class CompressedKinds {
 public:
  explicit CompressedKinds(HfFile& file) : window_(ReadWindowAttention(file)) {
    indexer_.heads = ReadSize(file, "index_n_heads", 64);
    indexer_.head_size = ReadSize(file, "index_head_dim", 128);
    indexer_.top_k = file.IntegerOr("index_topk", 512, kMaxHfTokens);
    sparse_ratio_ =
        ReadRate(file, kSparseWord, "compress_rate_csa", kSparseRatio);
    heavy_ratio_ = ReadRate(file, kHeavyWord, "compress_rate_hca", kHeavyRatio);
  }

  CompressedAttention Of(Compression compression) const {
    CompressedAttention attention = window_;
    switch (compression) {
      case Compression::kWindow:
        break;
      case Compression::kSparse:
        attention.ratio = sparse_ratio_;
        attention.overlap = true;
        attention.indexer = indexer_;
        break;
      case Compression::kHeavy:
        attention.ratio = heavy_ratio_;
        break;
    }
    return attention;
  }

 private:
  // The layer kind's own rate; files with ratios need none.
  static int ReadRate(HfFile& file, absl::string_view word,
                      absl::string_view older_key, int64_t absent) {
    const std::string keys =
        absl::StrCat("compress_rates.", word, "|", older_key);
    return static_cast<int>(file.Optional(keys, 1, kMaxRatio).value_or(absent));
  }

  CompressedAttention window_;
  SparseIndexer indexer_;
  int sparse_ratio_ = 0;
  int heavy_ratio_ = 0;
};

// Routed experts, which are nearly all weights, may be stored narrower than
// quantization_config says.
void ReadExpertFormat(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKey = "expert_dtype";
  const std::optional<std::string> name = file.OptionalString(kKey);
  if (!name.has_value()) return;
  if (*name == "fp4") {
    for (LayerKind& kind : spec.layer_kinds) {
      if (!HasLinear(kind, LinearClass::kExperts)) continue;
      kind.formats.push_back({LinearClass::kExperts, Format::kMxfp4,
                              spec.native_precision.activations});
    }
  } else if (*name == "fp8") {
    file.Ignore(kKey);
  } else {
    file.Complain(
        kKey, absl::StrCat("is \"", Printable(*name), "\"; allowed: fp4, fp8"));
  }
}

}  // namespace

void ReadCompressedLayers(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kMtpKey = "num_nextn_predict_layers";
  const int64_t layer_count = ReadLayerCount(file);
  int64_t modules = 1;
  if (file.IsNull(kMtpKey)) {
    file.NoteDefault(kMtpKey, absl::StrCat(modules));
  } else {
    modules = file.Optional(kMtpKey, 0, kMaxHfLayers).value_or(0);
  }
  spec.residual_streams = ReadSize(file, "hc_mult", 4);
  const CompressedKinds kinds(file);
  const Compressions compressions =
      ReadCompressions(file, layer_count, modules);
  const std::vector<bool> hashed = ReadHashLayers(file, layer_count);
  MixtureOfExperts experts = ReadExperts(file);
  for (size_t i = 0; i < compressions.layers.size(); ++i) {
    LayerKind layer = BareLayer(file);
    layer.name = KindName(compressions.layers[i], hashed[i]);
    layer.attention = kinds.Of(compressions.layers[i]);
    experts.hash_routing = hashed[i];
    layer.feed_forward = experts;
    AddLayer(std::move(layer), spec);
  }
  LayerKind layer = BareLayer(file);
  layer.name = KindName(compressions.mtp, false);
  layer.attention = kinds.Of(compressions.mtp);
  experts.hash_routing = false;
  layer.feed_forward = experts;
  AddMtp(modules, {std::move(layer)}, spec);
  ReadExpertFormat(file, spec);
}

}  // namespace mansard::model
