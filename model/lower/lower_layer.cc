// The flow of a layer: norms, residual, reductions, and what stands between.
#include <algorithm>

#include "model/lower/lowering.h"

namespace mansard::model {

const Lowering::BranchParts Lowering::kMixerParts = {
    .stream_weights = Part::kMixerStreamWeights,
    .stream_mix = Part::kMixerStreamMix,
    .norm = Part::kAttentionNorm,
    .all_reduce = Part::kAttentionAllReduce,
    .post_norm = Part::kAttentionPostNorm,
    .residual = Part::kAttentionResidual,
    .stream_merge = Part::kMixerStreamMerge};

const Lowering::BranchParts Lowering::kFeedForwardParts = {
    .stream_weights = Part::kFeedForwardStreamWeights,
    .stream_mix = Part::kFeedForwardStreamMix,
    .norm = Part::kFeedForwardNorm,
    .all_reduce = Part::kFeedForwardAllReduce,
    .post_norm = Part::kFeedForwardPostNorm,
    .residual = Part::kFeedForwardResidual,
    .stream_merge = Part::kFeedForwardStreamMerge};

bool Lowering::LeavesOpen(const LayerKind& kind) const {
  const ModelGraphSpec& spec = graph_.spec();
  return spec.residual_streams == 1 &&
         (spec.layer_input_size != 0 || kind.norms != NormPlacement::kAfter);
}

bool Lowering::Skips(const LayerKind& kind) const {
  if (!kind.attention.has_value() ||
      !std::holds_alternative<CrossAttention>(*kind.attention)) {
    return false;
  }
  return std::none_of(
      pass_.groups().begin(), pass_.groups().end(),
      [](const RequestGroup& group) { return group.encoder_tokens > 0; });
}

const LayerKind* Lowering::FirstLayer() const {
  const ModelGraphSpec& spec = graph_.spec();
  for (int index : spec.layer_kind_indexes) {
    const LayerKind& kind = spec.layer_kinds[static_cast<size_t>(index)];
    if (!Skips(kind)) return &kind;
  }
  return nullptr;
}

const LayerKind* Lowering::LastLayer() const {
  const ModelGraphSpec& spec = graph_.spec();
  for (size_t i = spec.layer_kind_indexes.size(); i > 0; --i) {
    const auto index = static_cast<size_t>(spec.layer_kind_indexes[i - 1]);
    if (!Skips(spec.layer_kinds[index])) return &spec.layer_kinds[index];
  }
  return nullptr;
}

bool Lowering::HasInputNorm() const {
  const LayerKind* first = FirstLayer();
  return graph_.spec().residual_streams == 1 && first != nullptr &&
         first->norms != NormPlacement::kAfter;
}

Lowering::Starts Lowering::StartsOf(size_t index) const {
  const ModelGraphSpec& spec = graph_.spec();
  const LayerKind& kind = spec.layer_kinds[index];
  const int all = RepeatsOf(index);
  if (spec.residual_streams > 1) return {.closed = all};
  if (Skips(kind)) return {.open = all};
  const bool has_first = FirstLayer() == &kind;
  const int first = has_first ? RepeatsBefore() : 0;
  const int at_input = HasInputNorm() ? first : 0;
  // What nearly all models are.
  if (std::all_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                  [this](const LayerKind& k) { return LeavesOpen(k); })) {
    return {.open = all - first, .closed = first - at_input};
  }
  Starts starts;
  bool open = false;
  for (int layer = 0; layer < graph_.layer_count(); ++layer) {
    const auto next_index = static_cast<size_t>(
        spec.layer_kind_indexes[static_cast<size_t>(layer)]);
    const LayerKind& next = spec.layer_kinds[next_index];
    if (Skips(next)) continue;
    if (&next == &kind) {
      (open ? starts.open : starts.closed) +=
          stages_.Of(layout_.StageOf(layer));
    }
    open = LeavesOpen(next);
  }
  starts.closed -= at_input;
  return starts;
}

void Lowering::EmitLayers(size_t index) {
  const size_t before = ops_.size();
  EmitLayer(index, RepeatsOf(index), StartsOf(index));
  if (!Skips(graph_.spec().layer_kinds[index])) return;
  Bytes held;
  for (size_t i = before; i < ops_.size(); ++i) {
    held += ops_[i].repeat * ops_[i].held;
  }
  ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(before), ops_.end());
  Hold(held);
}

void Lowering::EmitLayer(size_t index, int count, Starts starts) {
  const LayerKind& kind = graph_.spec().layer_kinds[index];
  const int around = repeat_;
  layer_kind_ = static_cast<int>(index);
  linears_ = &formats_.OfKind(index);
  repeat_ = count;
  if (kind.parallel) {
    EmitParallel(kind, count, starts);
  } else {
    EmitSequential(kind, count, starts);
  }
  if (graph_.spec().layer_input_size != 0) EmitLayerInput();
  // Scales are held, and read by ops that leave them out: they are few.
  ops_.back().held +=
      ElementBytes(formats_.native, static_cast<double>(kind.extra_parameters));
  layer_kind_ = -1;
  repeat_ = around;
}

void Lowering::EmitSequential(const LayerKind& kind, int count, Starts starts) {
  if (kind.has_mixer()) {
    EmitStart(kMixerParts, kind.norms, count, starts);
    EmitMixer(kind);
    EmitEnd(kMixerParts, kind.norms, false, !kind.has_feed_forward());
  }
  if (!kind.has_feed_forward()) return;
  if (kind.has_mixer()) {
    EmitBetween(kind.norms);
  } else {
    EmitStart(kFeedForwardParts, kind.norms, count, starts);
  }
  std::visit([this](const auto& ffn) { EmitFeedForward(ffn); },
             kind.feed_forward);
  EmitEnd(kFeedForwardParts, kind.norms, ReducesItself(kind.feed_forward),
          true);
}

// The ranks' sums of both branches are reduced together where nothing but the
// sum of the branches comes after them.
void Lowering::EmitParallel(const LayerKind& kind, int count, Starts starts) {
  EmitStart(kMixerParts, kind.norms, count, starts);
  if (kind.parallel_norms && kind.norms != NormPlacement::kAfter) {
    EmitPlainNorm(Part::kFeedForwardNorm);
  }
  const bool normed = kind.norms != NormPlacement::kBefore;
  const bool reduced = ReducesItself(kind.feed_forward);
  const bool apart = normed || reduced;
  EmitMixer(kind);
  if (apart) EmitAllReduce(Part::kAttentionAllReduce);
  if (normed) EmitPlainNorm(Part::kAttentionPostNorm);
  std::visit([this](const auto& ffn) { EmitFeedForward(ffn); },
             kind.feed_forward);
  if (apart && !reduced) EmitAllReduce(Part::kFeedForwardAllReduce);
  if (normed) EmitPlainNorm(Part::kFeedForwardPostNorm);
  Emit(ResidualOp(HiddenShape()), Part::kParallelSum);
  EmitEnd(kFeedForwardParts, NormPlacement::kBefore, apart, true);
  if (kind.norms == NormPlacement::kAfter && !LeavesOpen(kind) &&
      graph_.spec().residual_streams == 1) {
    Emit(ResidualOp(HiddenShape()), Part::kFeedForwardResidual);
  }
}

void Lowering::EmitStart(const BranchParts& parts, NormPlacement norms,
                         int count, Starts starts) {
  if (graph_.spec().residual_streams > 1) {
    EmitStreamsIn(parts);
    if (norms != NormPlacement::kAfter) EmitPlainNorm(parts.norm);
    return;
  }
  repeat_ = starts.open;
  if (repeat_ > 0) {
    if (norms == NormPlacement::kAfter) {
      Emit(ResidualOp(HiddenShape()), Part::kFeedForwardResidual);
    } else {
      EmitNorm(parts.norm, Part::kFeedForwardResidual);
    }
  }
  repeat_ = starts.closed;
  if (repeat_ > 0 && norms != NormPlacement::kAfter) EmitPlainNorm(parts.norm);
  repeat_ = count;
}

void Lowering::EmitBetween(NormPlacement norms) {
  if (graph_.spec().residual_streams > 1) {
    EmitStreamsIn(kFeedForwardParts);
    if (norms != NormPlacement::kAfter) EmitPlainNorm(kFeedForwardParts.norm);
  } else if (norms != NormPlacement::kAfter) {
    EmitNorm(kFeedForwardParts.norm, kMixerParts.residual);
  }
}

void Lowering::EmitEnd(const BranchParts& parts, NormPlacement norms,
                       bool reduced, bool last) {
  if (!reduced) EmitAllReduce(parts.all_reduce);
  const bool normed = norms != NormPlacement::kBefore;
  if (graph_.spec().residual_streams > 1) {
    if (normed) EmitPlainNorm(parts.post_norm);
    Emit(StreamMergeOp(HiddenShape(), graph_.spec().residual_streams),
         parts.stream_merge);
    return;
  }
  const bool closes = norms == NormPlacement::kAfter ||
                      (last && graph_.spec().layer_input_size != 0);
  if (normed && closes) {
    EmitNormThenAdd(parts.post_norm, parts.residual);
  } else if (normed) {
    EmitPlainNorm(parts.post_norm);
  } else if (closes) {
    Emit(ResidualOp(HiddenShape()), parts.residual);
  }
}

void Lowering::EmitMixer(const LayerKind& kind) {
  if (kind.attention.has_value()) {
    std::visit([this](const auto& attention) { EmitAttention(attention); },
               *kind.attention);
  }
  if (kind.recurrent.has_value()) EmitRecurrent(*kind.recurrent);
}

void Lowering::EmitStreamsIn(const BranchParts& parts) {
  const int streams = graph_.spec().residual_streams;
  Emit(StreamWeightsOp({.m = tokens_,
                        .n = StreamWeightColumns(streams),
                        .k = streams * hidden_,
                        .input = formats_.hidden,
                        .compute = formats_.head_compute}),
       parts.stream_weights);
  Emit(StreamCollapseOp(HiddenShape(), streams, true), parts.stream_mix);
}

// Gemma 3n: the residual gates the layer's own input, which is projected back,
// normed, and left to be added.
void Lowering::EmitLayerInput() {
  const int64_t size = graph_.spec().layer_input_size;
  Emit(WideGemm(tokens_, size, hidden_, false), Part::kLayerGateProj);
  Emit(ActivationOp({tokens_, size, formats_.hidden}, true), Part::kLayerGate);
  Emit(WideGemm(tokens_, hidden_, size, false), Part::kLayerProj);
  EmitPlainNorm(Part::kLayerPostNorm);
}

}  // namespace mansard::model
