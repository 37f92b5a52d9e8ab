#include "tests/reference/layer_counter.h"

#include <variant>

#include "tests/reference/attention_counter.h"
#include "tests/reference/feed_forward_counter.h"
#include "tests/reference/recurrent_counter.h"
#include "tests/reference/stream_counter.h"

namespace mansard::testing {

using model::LayerKind;
using model::NormPlacement;

LayerCounter::LayerCounter(const model::ModelGraph& graph,
                           const model::ForwardPass& pass,
                           const ReferenceOptions& options, bool input_norm,
                           Tally& tally)
    : spec_(graph.spec()),
      pass_(pass),
      options_(options),
      hidden_(spec_.hidden_size),
      tokens_(pass.total_new_tokens()),
      norm_vectors_(spec_.norm_bias ? 2 : 1),
      first_(input_norm),
      tally_(tally) {}

void LayerCounter::Norm(const std::string& part, bool residual) {
  tally_.Norm(part, tokens_, hidden_, residual, norm_vectors_);
}

void LayerCounter::AllReduce(const std::string& part) {
  tally_.AllReduce(part, tokens_, hidden_, options_.tensor);
}

void LayerCounter::Count(const LayerKind& kind) {
  tally_.Enter(static_cast<size_t>(&kind - spec_.layer_kinds.data()));
  if (kind.attention.has_value() &&
      std::holds_alternative<model::CrossAttention>(*kind.attention)) {
    bool sees_encoder = false;
    for (const model::RequestGroup& group : pass_.groups()) {
      sees_encoder = sees_encoder || group.encoder_tokens > 0;
    }
    if (!sees_encoder) return;
  }
  if (kind.parallel) {
    Parallel(kind);
  } else {
    if (kind.has_mixer()) {
      Open("mixer", "attention_norm", kind.norms);
      Mixer(kind);
      AllReduce("attention_all_reduce");
      Close("mixer", "attention", kind.norms, !kind.has_feed_forward());
    }
    if (kind.has_feed_forward()) {
      Open("ffn", "ffn_norm", kind.norms);
      if (!FeedForward(kind)) AllReduce("ffn_all_reduce");
      Close("ffn", "ffn", kind.norms, true);
    }
  }
  if (spec_.layer_input_size != 0) LayerInput();
}

void LayerCounter::Mixer(const LayerKind& kind) {
  if (kind.attention.has_value()) {
    std::visit(
        AttentionCounter(pass_, options_, hidden_, spec_.norm_bias, tally_),
        *kind.attention);
  }
  if (kind.recurrent.has_value()) {
    RecurrentCounter(pass_, options_, hidden_, tally_)
        .Count(*kind.recurrent, kind.attention.has_value());
  }
}

bool LayerCounter::FeedForward(const LayerKind& kind) {
  return std::visit(
      FeedForwardCounter(pass_, options_, hidden_, norm_vectors_, tally_),
      kind.feed_forward);
}

// Both outputs are summed before the ranks are, unless one of them is normed.
void LayerCounter::Parallel(const LayerKind& kind) {
  Open("mixer", "attention_norm", kind.norms);
  const bool normed = kind.norms != NormPlacement::kBefore;
  if (kind.parallel_norms && kind.norms != NormPlacement::kAfter) {
    Norm("ffn_norm", false);
  }
  Mixer(kind);
  const bool reduced = FeedForward(kind);
  if (normed || reduced) AllReduce("attention_all_reduce");
  if (normed) Norm("attention_post_norm", false);
  if (normed && !reduced) AllReduce("ffn_all_reduce");
  if (normed) Norm("ffn_post_norm", false);
  tally_.Move("parallel_sum", tokens_, hidden_, 2, 1);
  if (!normed && !reduced) AllReduce("ffn_all_reduce");
  open_ = true;
  const bool next_reads_sum =
      kind.norms == NormPlacement::kAfter || spec_.layer_input_size != 0;
  if (next_reads_sum) {
    tally_.Move("ffn_residual", tokens_, hidden_, 2, 1);
    open_ = false;
  }
}

void LayerCounter::Open(const std::string& branch, const std::string& norm,
                        NormPlacement norms) {
  if (spec_.residual_streams > 1) {
    StreamCounter{tokens_, hidden_, spec_.residual_streams, tally_}.Collapse(
        branch + "_stream_weights", branch + "_stream_mix", true);
    if (norms != NormPlacement::kAfter) Norm(norm, false);
    return;
  }
  if (norms == NormPlacement::kAfter) {
    if (open_) tally_.Move("ffn_residual", tokens_, hidden_, 2, 1);
  } else {
    Norm(first_ ? "input_norm" : norm, open_);
  }
  first_ = false;
  open_ = false;
}

void LayerCounter::Close(const std::string& branch, const std::string& part,
                         NormPlacement norms, bool last) {
  const bool normed = norms != NormPlacement::kBefore;
  if (spec_.residual_streams > 1) {
    if (normed) Norm(part + "_post_norm", false);
    StreamCounter{tokens_, hidden_, spec_.residual_streams, tally_}.Merge(
        branch + "_stream_merge");
    return;
  }
  // Something reads the residual before a norm could add to it.
  const bool add =
      norms == NormPlacement::kAfter || (last && spec_.layer_input_size != 0);
  if (normed && add) {
    tally_.NormThenAdd(part + "_post_norm", tokens_, hidden_, norm_vectors_);
  } else if (normed) {
    Norm(part + "_post_norm", false);
  } else if (add) {
    tally_.Move(part + "_residual", tokens_, hidden_, 2, 1);
  }
  open_ = !add;
}

void LayerCounter::LayerInput() {
  const int64_t size = spec_.layer_input_size;
  tally_.Gemm("layer_gate_proj", tokens_, size, hidden_, tally_.Wide());
  tally_.Activation("layer_gate", tokens_, size, true);
  tally_.Gemm("layer_proj", tokens_, hidden_, size, tally_.Wide());
  Norm("layer_post_norm", false);
  open_ = true;
}

}  // namespace mansard::testing
