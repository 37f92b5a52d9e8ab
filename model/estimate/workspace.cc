#include "model/estimate/workspace.h"

#include <algorithm>
#include <variant>

namespace mansard::model {
namespace {

// Projections and what comes out of the mixer, on one rank.
struct AttentionElements {
  const Layout& layout;
  int heads;  // Per rank.

  double operator()(const GroupedQueryAttention& a) const {
    const double kv_heads = layout.KvHeadsPerRank(a.kv_heads);
    const double gate = a.output_gate ? 2 : 1;
    return heads * (gate * a.head_size + a.value_size()) +
           kv_heads * (a.head_size + a.value_size());
  }
  // Prompts are expanded: queries, keys and values, and the result.
  double operator()(const LatentAttention& a) const {
    return heads * (2.0 * a.key_head_size() + 2.0 * a.value_head_size);
  }
  double operator()(const CompressedAttention& a) const {
    return 2.0 * heads * a.head_size + a.head_size;
  }
  double operator()(const CrossAttention& a) const {
    return 2.0 * heads * a.head_size;
  }
};

struct FeedForwardElements {
  const Layout& layout;
  double hidden;

  double operator()(const NoFeedForward& /*none*/) const { return 0; }
  double operator()(const DenseFeedForward& f) const {
    return Inner(f.intermediate_size, f.gated);
  }
  // A row for each expert of a token, and what comes back from it; of the
  // tokens that data ranks gather. Ranks that hold some experts only make room
  // for all rows.
  double operator()(const MixtureOfExperts& f) const {
    const double routed =
        ExpertInner(f) +
        (f.latent_size == 0 ? hidden : static_cast<double>(f.latent_size));
    return std::max(layout.gather_group().ranks * f.experts_per_token * routed,
                    Inner(f.shared_intermediate_size, f.shared_gated));
  }
  double Inner(int64_t width, bool gated) const {
    return static_cast<double>(layout.PerRank(width)) * (gated ? 3 : 2);
  }
  double ExpertInner(const MixtureOfExperts& f) const {
    return static_cast<double>(
               layout.ExpertWidthPerRank(f.expert_intermediate_size)) *
           (f.gated ? 3 : 2);
  }
};

double RecurrentElements(const RecurrentMixer& mine) {
  return static_cast<double>(2 * mine.conv_width() + 2 * mine.value_width());
}

}  // namespace

double WidestElements(const ModelGraph& graph, const Layout& layout) {
  const auto hidden = static_cast<double>(graph.spec().hidden_size);
  double widest = 0;
  for (const LayerKind& kind : graph.spec().layer_kinds) {
    if (kind.attention.has_value()) {
      const int heads = layout.QueryHeadsPerRank(*kind.attention);
      widest = std::max(widest, std::visit(AttentionElements{layout, heads},
                                           *kind.attention));
    }
    if (kind.recurrent.has_value()) {
      widest =
          std::max(widest, RecurrentElements(layout.OnRank(*kind.recurrent)));
    }
    widest = std::max(widest, std::visit(FeedForwardElements{layout, hidden},
                                         kind.feed_forward));
  }
  return widest;
}

Workspace::Workspace(const ModelGraph& graph, const Layout& layout,
                     const PassFormats& formats, const EngineMemory& engine)
    : fixed_(engine.fixed_workspace),
      logits_(Bytes::Of(engine.bytes_per_logit *
                        static_cast<double>(graph.spec().vocabulary_size))),
      token_budget_(engine.token_budget),
      sequence_limit_(engine.sequence_limit) {
  const auto hidden = static_cast<double>(graph.spec().hidden_size *
                                          graph.spec().residual_streams);
  hidden_ = ElementBytes(formats.hidden, hidden);
  layer_ =
      ElementBytes(formats.hidden, 2 * hidden + WidestElements(graph, layout));
}

Bytes Workspace::For(int64_t tokens, int64_t logit_positions) const {
  const auto most_tokens = static_cast<double>(std::max(tokens, token_budget_));
  const auto sequences =
      static_cast<double>(std::max(logit_positions, sequence_limit_));
  const Bytes sampling =
      sequences * logits_ + (most_tokens + sequences) * hidden_;
  return fixed_ + Max(sampling, most_tokens * layer_);
}

}  // namespace mansard::model
