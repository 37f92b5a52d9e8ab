#include "model/estimate/assumptions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

struct IsIndexed {
  bool operator()(const LatentAttention& a) const {
    return a.indexer.has_value();
  }
  bool operator()(const CompressedAttention& a) const {
    return a.indexer.has_value();
  }
  template <class Other>
  bool operator()(const Other& /*a*/) const {
    return false;
  }
};

// Prompts on latent vectors instead of expanded keys and values.
bool IsSparse(const Attention& attention) {
  const auto* latent = std::get_if<LatentAttention>(&attention);
  return latent != nullptr && latent->indexer.has_value();
}

bool IsCompressed(const Attention& attention) {
  const auto* compressed = std::get_if<CompressedAttention>(&attention);
  return compressed != nullptr && compressed->ratio != 0;
}

bool NormsAllHeads(const Attention& attention) {
  if (const auto* grouped = std::get_if<GroupedQueryAttention>(&attention)) {
    return grouped->qk_norm == QkNorm::kAllHeads;
  }
  const auto* cross = std::get_if<CrossAttention>(&attention);
  return cross != nullptr && cross->qk_norm == QkNorm::kAllHeads;
}

template <class Predicate>
bool AnyAttention(const ModelGraph& graph, const Predicate& holds) {
  const auto& kinds = graph.spec().layer_kinds;
  return std::any_of(kinds.begin(), kinds.end(), [&](const LayerKind& kind) {
    return kind.attention.has_value() && holds(*kind.attention);
  });
}

}  // namespace

std::vector<std::string> AttentionAssumptions(const ModelGraph& graph,
                                              const Layout& layout) {
  std::vector<std::string> assumptions;
  const auto indexed = [](const Attention& attention) {
    return std::visit(IsIndexed{}, attention);
  };
  if (AnyAttention(graph, indexed)) {
    assumptions.push_back(
        "the indexer runs on every rank and at every context length, its keys "
        "are cached in the KV cache's format, and the tokens of one request "
        "choose different positions");
  }
  if (AnyAttention(graph, IsSparse)) {
    assumptions.push_back(
        "prompts attend to the chosen positions on latent vectors: keys and "
        "values are not expanded");
  }
  if (AnyAttention(graph, IsCompressed)) {
    assumptions.push_back(
        "a decoding request completes a compressed entry every `ratio` tokens, "
        "on average; what a prompt keeps of its last positions for the next "
        "entry is not counted as traffic");
  }
  if (layout.tensor() > 1 && AnyAttention(graph, NormsAllHeads)) {
    assumptions.push_back(
        "norms over the heads of all ranks reduce two numbers a token among "
        "them");
  }
  return assumptions;
}

std::vector<std::string> PassAssumptions(const ModelGraph& graph,
                                         const ForwardPass& pass) {
  if (pass.encoder_tokens() > 0) return {};
  int skipped = 0;
  for (size_t i = 0; i < graph.spec().layer_kinds.size(); ++i) {
    if (AttendsToEncoder(graph.spec().layer_kinds[i])) {
      skipped += graph.CountOf(i);
    }
  }
  if (skipped == 0) return {};
  return {absl::StrCat(
      "encoder_token_count is 0: ", skipped,
      " layers with cross-attention are skipped, their weights are held")};
}

}  // namespace mansard::model
