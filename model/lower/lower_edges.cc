// What stands before and after the layers.
#include <algorithm>

#include "model/lower/lowering.h"

namespace mansard::model {

int64_t Lowering::TableWidth() const {
  const int64_t size = graph_.spec().embedding_size;
  return size == 0 ? hidden_ : size;
}

int64_t Lowering::ExtraRowsPerRank() const {
  const int64_t ranks = layout_.tensor();
  return (graph_.spec().extra_embedding_rows + ranks - 1) / ranks;
}

void Lowering::EmitLookup(Part part, int64_t rows_held) {
  const int64_t width = TableWidth();
  Op& gather = Emit(
      EmbeddingOp({tokens_, width, formats_.hidden}, formats_.embedding), part);
  gather.work.weights *= 1.0 / layout_.tensor();
  gather.held = WeightBytes(formats_.embedding, rows_held, width);
  EmitAllReduce(Part::kEmbeddingAllReduce, width);
  if (graph_.spec().embedding_size == 0) return;
  Op& project =
      Emit(WideGemm(tokens_, hidden_, width, false), Part::kEmbeddingProj);
  if (draft_) project.held = Bytes::Zero();
}

void Lowering::EmitInput() {
  const ModelGraphSpec& spec = graph_.spec();
  // A tied table is the head's, where both are on one rank.
  const bool of_head = spec.tied_embeddings && layout_.pipeline() == 1;
  const int64_t rows = of_head ? 0 : layout_.VocabularyPerRank(graph_);
  EmitLookup(Part::kEmbedding, rows + ExtraRowsPerRank());
  // Scales around the layers; no op of their own reads them.
  ops_.front().held +=
      ElementBytes(formats_.native, static_cast<double>(spec.extra_parameters));
  if (spec.position_rows != 0) {
    Op& positions = Emit(AddedEmbeddingOp(HiddenShape(), formats_.native),
                         Part::kPositionEmbedding);
    // On every rank: it is small, and its sum would need a reduction.
    positions.held = WeightBytes(formats_.native, spec.position_rows, hidden_);
    positions.work.weights = Min(positions.work.weights, positions.held);
  }
  if (spec.embedding_norm) EmitPlainNorm(Part::kEmbeddingNorm);
  if (spec.layer_input_size != 0) EmitLayerInputs();
  if (spec.residual_streams > 1) {
    Emit(StreamsOp(HiddenShape(), spec.residual_streams),
         Part::kEmbeddingStreams);
  }
  if (HasInputNorm()) EmitPlainNorm(Part::kInputNorm);
}

// The table is sharded by rows as the embedding is; the projection, and what
// the layers do with its result, is on every rank. Of one value a layer and
// token the norm is over that layer's.
void Lowering::EmitLayerInputs() {
  const ModelGraphSpec& spec = graph_.spec();
  const int64_t size = spec.layer_input_size;
  const int64_t width = graph_.layer_count() * size;
  const int64_t ranks = layout_.tensor();
  Op& gather =
      Emit(EmbeddingOp({tokens_, width, formats_.hidden}, formats_.native),
           Part::kLayerInputEmbedding);
  gather.work.weights *= 1.0 / layout_.tensor();
  gather.held = WeightBytes(formats_.native,
                            (spec.layer_input_rows + ranks - 1) / ranks, width);
  EmitAllReduce(Part::kEmbeddingAllReduce, width);
  Emit(WideGemm(tokens_, width, hidden_, false), Part::kLayerInputProj);
  const ElementwiseShape layers = {tokens_ * graph_.layer_count(), size,
                                   formats_.hidden};
  if (fusion_.residual_into_norm) {
    Emit(WithNormBias(NormThenAddOp(layers, formats_.native)),
         Part::kLayerInputNorm);
    return;
  }
  Emit(WithNormBias(NormOp(layers, false, formats_.native)),
       Part::kLayerInputNorm);
  Emit(ResidualOp(layers), Part::kLayerInputNorm);
}

void Lowering::EmitTransfers() {
  const ModelGraphSpec& spec = graph_.spec();
  // A branch that is left open travels beside the residual.
  const bool open =
      std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                  [this](const LayerKind& kind) { return LeavesOpen(kind); });
  const int64_t vectors = open ? 2 : spec.residual_streams;
  const Bytes message =
      ActivationBytes(formats_.hidden, tokens_, vectors * hidden_);
  for (bool crosses : {false, true}) {
    repeat_ = 0;
    RankGroup group;
    for (int stage = 0; stage + 1 < layout_.pipeline(); ++stage) {
      const RankGroup hop = layout_.TransferGroup(stage);
      if ((hop.node_ranks != 0) != crosses) continue;
      repeat_ += stages_.Of(stage);
      group = hop;
    }
    if (repeat_ == 0) continue;
    Emit(SendReceiveOp(Among(group), message / layout_.tensor()),
         Part::kStageTransfer);
    if (layout_.tensor() == 1) continue;
    Emit(AllGatherOp(Among(layout_.tensor_group()), message),
         Part::kStageGather);
  }
}

void Lowering::EmitFinalNorm(bool open) {
  const ModelGraphSpec& spec = graph_.spec();
  if (spec.residual_streams > 1) {
    const int64_t streams = spec.residual_streams;
    Emit(StreamWeightsOp({.m = tokens_,
                          .n = streams,
                          .k = streams * hidden_,
                          .input = formats_.hidden,
                          .compute = formats_.head_compute}),
         Part::kFinalStreamWeights);
    Emit(StreamCollapseOp(HiddenShape(), spec.residual_streams, false),
         Part::kFinalStreamMix);
  }
  if (!spec.final_norm && !draft_) {
    if (open) Emit(ResidualOp(HiddenShape()), Part::kFeedForwardResidual);
  } else if (open) {
    EmitNorm(Part::kFinalNorm, Part::kFeedForwardResidual);
  } else {
    EmitPlainNorm(Part::kFinalNorm);
  }
}

void Lowering::EmitHead(int64_t positions) {
  const ModelGraphSpec& spec = graph_.spec();
  const int64_t vocabulary = layout_.VocabularyPerRank(graph_);
  if (spec.embedding_size != 0) {
    Op& project = Emit(WideGemm(positions, spec.embedding_size, hidden_, false),
                       Part::kHeadProj);
    if (draft_) project.held = Bytes::Zero();
  }
  if (IsLowPrecision(formats_.head.activations)) {
    Emit(QuantizeOp({positions, TableWidth(), formats_.hidden},
                    formats_.head.activations),
         Part::kHeadQuantize);
  }
  Op& head = Emit(GemmOp({.m = positions,
                          .n = vocabulary,
                          .k = TableWidth(),
                          .input = formats_.head.activations,
                          .weights = formats_.head.weights,
                          .output = formats_.hidden,
                          .compute = formats_.head.compute},
                         spec.head_bias),
                  Part::kHead);
  if (draft_) {
    head.held = spec.mtp.own_head ? WeightBytes(formats_.head.weights,
                                                vocabulary, TableWidth())
                                  : Bytes::Zero();
  }
  if (layout_.tensor() > 1) {
    Emit(AllGatherOp(Among(layout_.tensor_group()),
                     ActivationBytes(formats_.hidden, positions,
                                     vocabulary * layout_.tensor())),
         Part::kLogitsAllGather);
  }
  Emit(SamplingOp({positions, spec.vocabulary_size, formats_.hidden}),
       Part::kSampling);
}

void Lowering::EmitOutput() {
  const LayerKind* last = LastLayer();
  EmitFinalNorm(last != nullptr && LeavesOpen(*last));
  EmitHead(pass_.logit_positions());
  EmitDrafts();
}

}  // namespace mansard::model
