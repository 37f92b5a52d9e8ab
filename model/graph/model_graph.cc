#include "model/graph/model_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/graph/graph_parameters.h"
#include "model/graph/graph_rules.h"
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

// Elements by which one layer's cache grows with one more token.
struct CountGrowth {
  bool windows_full;

  double operator()(const GroupedQueryAttention& attention) const {
    if (windows_full && (attention.sliding_window != 0 || attention.chunk != 0))
      return 0;
    return static_cast<double>(
        KvElementsPerEntry(attention, attention.kv_heads));
  }
  double operator()(const LatentAttention& attention) const {
    return static_cast<double>(KvElementsPerEntry(attention));
  }
  double operator()(const CompressedAttention& attention) const {
    if (attention.ratio == 0) return 0;
    return static_cast<double>(KvElementsPerEntry(attention)) / attention.ratio;
  }
  double operator()(const CrossAttention& /*attention*/) const { return 0; }
};

double IndexerGrowth(const Attention& attention) {
  const auto elements = static_cast<double>(IndexerElementsPerEntry(attention));
  const auto* compressed = std::get_if<CompressedAttention>(&attention);
  return elements == 0 || compressed == nullptr ? elements
                                                : elements / compressed->ratio;
}

}  // namespace

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
  CountParameters();
}

void ModelGraph::CountParameters() {
  parameters_ = AroundLayersParameters(spec_);
  table_parameters_ = TableParameters(spec_);
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    if (kind_counts_[i] == 0) continue;
    const LayerKind& kind = spec_.layer_kinds[i];
    parameters_.Add(LayerParameters(kind, spec_), kind_counts_[i]);
    idle_parameters_ +=
        kind_counts_[i] * IdleParameters(kind.feed_forward, spec_.hidden_size);
  }
  mtp_parameters_ =
      spec_.mtp.modules == 0
          ? 0
          : spec_.mtp.modules * MtpModuleParameters(spec_).Total();
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

Bytes ModelGraph::KvBytesPerToken(Format kv_cache) const {
  double elements = 0;
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const std::optional<Attention>& attention = spec_.layer_kinds[i].attention;
    if (!attention.has_value()) continue;
    elements += std::visit(CountGrowth{.windows_full = false}, *attention) *
                kind_counts_[i];
  }
  return ElementBytes(kv_cache, elements);
}

Bytes ModelGraph::UnboundedKvBytesPerToken(Format kv_cache) const {
  double elements = 0;
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const std::optional<Attention>& attention = spec_.layer_kinds[i].attention;
    if (!attention.has_value()) continue;
    elements += std::visit(CountGrowth{.windows_full = true}, *attention) *
                kind_counts_[i];
  }
  return ElementBytes(kv_cache, elements);
}

Bytes ModelGraph::IndexerBytesPerToken(Format kv_cache) const {
  double elements = 0;
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const std::optional<Attention>& attention = spec_.layer_kinds[i].attention;
    if (!attention.has_value()) continue;
    elements += IndexerGrowth(*attention) * kind_counts_[i];
  }
  return ElementBytes(kv_cache, elements);
}

Bytes ModelGraph::StateBytesPerSequence(Format state,
                                        Format convolution) const {
  double states = 0;
  double inputs = 0;
  for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
    const std::optional<RecurrentMixer>& mixer = spec_.layer_kinds[i].recurrent;
    if (!mixer.has_value()) continue;
    states += static_cast<double>(mixer->state_elements()) * kind_counts_[i];
    inputs +=
        static_cast<double>(mixer->conv_state_elements()) * kind_counts_[i];
  }
  return ElementBytes(state, states) + ElementBytes(convolution, inputs);
}

std::optional<ModelGraph> ModelGraph::WithKvHeads(
    int kv_heads, absl::string_view field, Violations& violations) const {
  ModelGraphSpec spec = spec_;
  bool found = false;
  for (LayerKind& kind : spec.layer_kinds) {
    if (!kind.attention.has_value()) continue;
    auto* attention = std::get_if<GroupedQueryAttention>(&*kind.attention);
    if (attention == nullptr) continue;
    if (kv_heads < 1 || attention->query_heads % kv_heads != 0) {
      violations.Add(field, absl::StrCat("is ", kv_heads,
                                         "; must divide the query heads, ",
                                         attention->query_heads));
      return std::nullopt;
    }
    attention->kv_heads = kv_heads;
    found = true;
  }
  if (!found) {
    violations.Add(field, absl::StrCat("is ", kv_heads,
                                       "; no layer has grouped queries, and "
                                       "so KV heads"));
    return std::nullopt;
  }
  return Create(std::move(spec), violations);
}

}  // namespace mansard::model
