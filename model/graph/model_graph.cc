#include "model/graph/model_graph.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/id.h"

namespace mansard::model {
namespace {

constexpr double kMaxSize = 1 << 24;
constexpr double kMaxVocabulary = 1 << 28;
constexpr size_t kMaxLayers = 4096;
constexpr double kMaxContext = 1e9;

void CheckAttention(const GroupedQueryAttention& attention,
                    Violations& violations) {
  Violations::Scope scope(violations, "attention");
  const bool heads_ok = violations.CheckRange("query_head_count",
                                              attention.query_heads, 1, 65536);
  violations.CheckRange("sliding_window_token_count",
                        static_cast<double>(attention.sliding_window), 0,
                        kMaxContext);
  Violations::Scope grouped(violations, "grouped_query");
  if (violations.CheckRange("head_size", attention.head_size, 1, 65536) &&
      heads_ok &&
      1.0 * attention.query_heads * attention.head_size > kMaxSize) {
    // Counts of wider projections would not fit into 64 bits.
    violations.Add(
        "head_size",
        absl::StrCat("is ", attention.head_size, "; times the query heads, ",
                     attention.query_heads, ", it may be up to ", 1 << 24));
  }
  if (violations.CheckRange("kv_head_count", attention.kv_heads, 1, 65536) &&
      heads_ok && attention.query_heads % attention.kv_heads != 0) {
    violations.Add(
        "kv_head_count",
        absl::StrCat("is ", attention.kv_heads,
                     "; must divide the query heads, ", attention.query_heads));
  }
}

void CheckLayerKinds(const ModelGraphSpec& spec, Violations& violations) {
  std::set<std::string> names;
  if (spec.layer_kinds.empty()) {
    violations.Add("layer_kinds", "is empty; at least one is needed");
  }
  for (size_t i = 0; i < spec.layer_kinds.size(); ++i) {
    const LayerKind& kind = spec.layer_kinds[i];
    Violations::Scope scope(violations, Indexed("layer_kinds", i));
    if (!IsValidId(kind.name)) {
      violations.Add("kind", absl::StrCat("is \"", kind.name,
                                          "\"; allowed: 1 to 63 lower-case "
                                          "letters, digits, \"-\", \".\""));
    } else if (!names.insert(kind.name).second) {
      violations.Add(
          "kind",
          absl::StrCat("\"", kind.name, "\" stands for another kind already"));
    }
    CheckAttention(kind.attention, violations);
    violations.CheckRange(
        "dense.intermediate_size",
        static_cast<double>(kind.feed_forward.intermediate_size), 1, kMaxSize);
  }
  if (spec.layer_kind_indexes.empty() ||
      spec.layer_kind_indexes.size() > kMaxLayers) {
    violations.Add("layer_kind_indexes",
                   absl::StrCat("names ", spec.layer_kind_indexes.size(),
                                " layers; allowed: 1 to ", kMaxLayers));
  }
  for (size_t i = 0; i < spec.layer_kind_indexes.size(); ++i) {
    const int index = spec.layer_kind_indexes[i];
    if (index < 0 || static_cast<size_t>(index) >= spec.layer_kinds.size()) {
      violations.Add(Indexed("layer_kind_indexes", i),
                     absl::StrCat("is ", index, "; there are ",
                                  spec.layer_kinds.size(), " layer kinds"));
    }
  }
}

int64_t AttentionParameters(const GroupedQueryAttention& attention,
                            int64_t hidden) {
  const int64_t query = int64_t{attention.query_heads} * attention.head_size;
  const int64_t kv = int64_t{attention.kv_heads} * attention.head_size;
  return hidden * (query + 2 * kv) + query * hidden +
         (attention.qkv_bias ? query + 2 * kv : 0) +
         (attention.output_bias ? hidden : 0);
}

int64_t FeedForwardParameters(const DenseFeedForward& feed_forward,
                              int64_t hidden) {
  const int64_t up =
      feed_forward.intermediate_size * (feed_forward.gated ? 2 : 1);
  return hidden * up + feed_forward.intermediate_size * hidden +
         (feed_forward.bias ? up + hidden : 0);
}

}  // namespace

absl::string_view TensorClassName(TensorClass tensor_class) {
  switch (tensor_class) {
    case TensorClass::kEmbedding:
      return "embedding";
    case TensorClass::kAttention:
      return "attention";
    case TensorClass::kFeedForward:
      return "feed_forward";
    case TensorClass::kNorm:
      return "norm";
    case TensorClass::kHead:
      return "head";
  }
  return "";
}

Bytes KvBytesPerTokenPerLayer(int kv_heads, int head_size, Format kv_cache) {
  return ElementBytes(kv_cache, 2.0 * kv_heads * head_size);
}

std::optional<ModelGraph> ModelGraph::Create(ModelGraphSpec spec,
                                             Violations& violations) {
  const size_t before = violations.all().size();
  violations.CheckRange("hidden_size", static_cast<double>(spec.hidden_size), 1,
                        kMaxSize);
  violations.CheckRange("vocabulary_size",
                        static_cast<double>(spec.vocabulary_size), 1,
                        kMaxVocabulary);
  violations.CheckRange("max_context_token_count",
                        static_cast<double>(spec.max_context), 1, kMaxContext);
  CheckLayerKinds(spec, violations);
  if (violations.all().size() != before) return std::nullopt;
  return ModelGraph(std::move(spec));
}

ModelGraph::ModelGraph(ModelGraphSpec spec) : spec_(std::move(spec)) {
  kind_counts_.resize(spec_.layer_kinds.size());
  for (int index : spec_.layer_kind_indexes) {
    ++kind_counts_[static_cast<size_t>(index)];
  }
  auto& [embedding, attention, feed_forward, norm, head] = parameters_;
  embedding = spec_.vocabulary_size * spec_.hidden_size;
  head = spec_.tied_embeddings ? 0 : embedding;
  norm = spec_.hidden_size;  // The final one.
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const LayerKind& kind = spec_.layer_kinds[i];
    const int64_t count = kind_counts_[i];
    attention += count * AttentionParameters(kind.attention, spec_.hidden_size);
    feed_forward +=
        count * FeedForwardParameters(kind.feed_forward, spec_.hidden_size);
    norm +=
        count * (2 * spec_.hidden_size +
                 (kind.attention.qk_norm ? 2 * kind.attention.head_size : 0));
  }
}

int64_t ModelGraph::ParameterCount() const {
  int64_t total = 0;
  for (int64_t count : parameters_) total += count;
  return total;
}

Bytes ModelGraph::KvBytesPerToken(Format kv_cache) const {
  Bytes total;
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const GroupedQueryAttention& attention = spec_.layer_kinds[i].attention;
    total += kind_counts_[i] * KvBytesPerTokenPerLayer(attention.kv_heads,
                                                       attention.head_size,
                                                       kv_cache);
  }
  return total;
}

std::optional<ModelGraph> ModelGraph::WithKvHeads(
    int kv_heads, absl::string_view field, Violations& violations) const {
  ModelGraphSpec spec = spec_;
  for (LayerKind& kind : spec.layer_kinds) {
    if (kv_heads < 1 || kind.attention.query_heads % kv_heads != 0) {
      violations.Add(field, absl::StrCat("is ", kv_heads,
                                         "; must divide the query heads, ",
                                         kind.attention.query_heads));
      return std::nullopt;
    }
    kind.attention.kv_heads = kv_heads;
  }
  return ModelGraph(std::move(spec));
}

}  // namespace mansard::model
