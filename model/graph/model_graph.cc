#include "model/graph/model_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/graph/graph_rules.h"
#include "model/graph/layer_parameters.h"

namespace mansard::model {
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

std::optional<ModelGraph> ModelGraph::Create(ModelGraphSpec spec,
                                             Violations& violations) {
  const size_t before = violations.all().size();
  CheckGraph(spec, violations);
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
    norm += count * NormParameters(kind, spec_.hidden_size);
    idle_parameters_ +=
        count * IdleParameters(kind.feed_forward, spec_.hidden_size);
  }
}

int64_t ModelGraph::ParameterCount() const {
  int64_t total = 0;
  for (int64_t count : parameters_) total += count;
  return total;
}

int ModelGraph::ExpertCount() const {
  int most = 0;
  for (const LayerKind& kind : spec_.layer_kinds) {
    if (const auto* ffn = std::get_if<MixtureOfExperts>(&kind.feed_forward)) {
      most = std::max(most, ffn->expert_count);
    }
  }
  return most;
}

int64_t ModelGraph::ActiveParameterCount() const {
  return ParameterCount() - idle_parameters_;
}

Bytes ModelGraph::KvBytesPerToken(Format kv_cache) const {
  double elements = 0;
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const Attention& attention = spec_.layer_kinds[i].attention;
    const auto* grouped = std::get_if<GroupedQueryAttention>(&attention);
    const int64_t width =
        grouped != nullptr
            ? KvElementsPerToken(*grouped, grouped->kv_heads)
            : KvElementsPerToken(std::get<LatentAttention>(attention));
    elements += static_cast<double>(width) * kind_counts_[i];
  }
  return ElementBytes(kv_cache, elements);
}

std::optional<ModelGraph> ModelGraph::WithKvHeads(
    int kv_heads, absl::string_view field, Violations& violations) const {
  ModelGraphSpec spec = spec_;
  for (LayerKind& kind : spec.layer_kinds) {
    auto* attention = std::get_if<GroupedQueryAttention>(&kind.attention);
    if (attention == nullptr) {
      violations.Add(field,
                     absl::StrCat("is ", kv_heads, "; layer kind \"", kind.name,
                                  "\" has latent attention: no KV heads"));
      return std::nullopt;
    }
    if (kv_heads < 1 || attention->query_heads % kv_heads != 0) {
      violations.Add(field, absl::StrCat("is ", kv_heads,
                                         "; must divide the query heads, ",
                                         attention->query_heads));
      return std::nullopt;
    }
    attention->kv_heads = kv_heads;
  }
  return ModelGraph(std::move(spec));
}

}  // namespace mansard::model
