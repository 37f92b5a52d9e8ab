#include "model/estimate/weight_class.h"

#include <variant>

namespace mansard::model {

TensorClass ClassOf(Part part) {
  switch (part) {
    case Part::kEmbedding:
    case Part::kEmbeddingProj:
    case Part::kLayerInputEmbedding:
    case Part::kDraftEmbedding:
      return TensorClass::kEmbedding;
    case Part::kPositionEmbedding:
      return TensorClass::kPosition;
    case Part::kHeadProj:
    case Part::kHead:
      return TensorClass::kHead;
    case Part::kLayerInputProj:
    case Part::kLayerGateProj:
    case Part::kLayerProj:
      return TensorClass::kLayerInput;
    case Part::kMixerStreamWeights:
    case Part::kFeedForwardStreamWeights:
    case Part::kFinalStreamWeights:
      return TensorClass::kResidual;
    case Part::kEmbeddingNorm:
    case Part::kLayerInputNorm:
    case Part::kInputNorm:
    case Part::kAttentionNorm:
    case Part::kEncoderKeyNorm:
    case Part::kQkNorm:
    case Part::kQueryLatentNorm:
    case Part::kKvLatentNorm:
    case Part::kIndexKeyNorm:
    case Part::kStateProjNorm:
    case Part::kRecurrentNorm:
    case Part::kAttentionPostNorm:
    case Part::kFeedForwardNorm:
    case Part::kExpertInputNorm:
    case Part::kLatentNorm:
    case Part::kExpertOutputNorm:
    case Part::kSharedOutputNorm:
    case Part::kFeedForwardPostNorm:
    case Part::kLayerPostNorm:
    case Part::kDraftNorms:
    case Part::kFinalNorm:
      return TensorClass::kNorm;
    case Part::kQkvProj:
    case Part::kEncoderKvProj:
    case Part::kLatentProj:
    case Part::kQueryProj:
    case Part::kIndexQueryProj:
    case Part::kIndexKeyProj:
    case Part::kIndexPool:
    case Part::kCompressProj:
    case Part::kCompressPool:
    case Part::kKvExpand:
    case Part::kAbsorbQuery:
    case Part::kAttention:
    case Part::kAbsorbValue:
    case Part::kOutputGateProj:
    case Part::kOutputDownProj:
    case Part::kOutputProj:
    case Part::kDraftProj:
      return TensorClass::kAttention;
    case Part::kRecurrentProj:
    case Part::kGateProj:
    case Part::kConvolution:
    case Part::kStateProj:
    case Part::kDecayProj:
    case Part::kRecurrentState:
    case Part::kRecurrentOutputProj:
      return TensorClass::kRecurrent;
    case Part::kUpProj:
    case Part::kDownProj:
      return TensorClass::kFeedForward;
    case Part::kRouter:
    case Part::kTopK:
    case Part::kLatentDown:
    case Part::kLatentUp:
      return TensorClass::kRouter;
    case Part::kExpertUp:
    case Part::kExpertDown:
      return TensorClass::kExperts;
    case Part::kSharedUp:
    case Part::kSharedDown:
    case Part::kSharedGateProj:
      return TensorClass::kSharedExperts;
    case Part::kEmbeddingAllReduce:
    case Part::kEmbeddingStreams:
    case Part::kMixerStreamMix:
    case Part::kAttentionQuantize:
    case Part::kQkNormAllReduce:
    case Part::kQueryQuantize:
    case Part::kRope:
    case Part::kIndexRope:
    case Part::kIndexScores:
    case Part::kIndexSelect:
    case Part::kKvQuantize:
    case Part::kOutputRope:
    case Part::kOutputGate:
    case Part::kOutputDownQuantize:
    case Part::kOutputQuantize:
    case Part::kRecurrentQuantize:
    case Part::kGateQuantize:
    case Part::kStateProjQuantize:
    case Part::kStateProjAllReduce:
    case Part::kDecayQuantize:
    case Part::kRecurrentNormAllReduce:
    case Part::kRecurrentGate:
    case Part::kRecurrentOutputQuantize:
    case Part::kMixerSum:
    case Part::kAttentionAllReduce:
    case Part::kAttentionResidual:
    case Part::kMixerStreamMerge:
    case Part::kFeedForwardStreamMix:
    case Part::kFeedForwardQuantize:
    case Part::kActivation:
    case Part::kDownQuantize:
    case Part::kRouterQuantize:
    case Part::kLatentDownQuantize:
    case Part::kContextGather:
    case Part::kContextReduce:
    case Part::kExpertGather:
    case Part::kExpertDispatch:
    case Part::kExpertReturn:
    case Part::kExpertScatter:
    case Part::kExpertActivation:
    case Part::kExpertDownQuantize:
    case Part::kCombine:
    case Part::kLatentUpQuantize:
    case Part::kSharedActivation:
    case Part::kSharedDownQuantize:
    case Part::kSharedGate:
    case Part::kSharedSum:
    case Part::kParallelSum:
    case Part::kFeedForwardAllReduce:
    case Part::kFeedForwardResidual:
    case Part::kFeedForwardStreamMerge:
    case Part::kLayerGate:
    case Part::kFinalStreamMix:
    case Part::kHeadQuantize:
    case Part::kLogitsAllGather:
    case Part::kStageTransfer:
    case Part::kStageGather:
    case Part::kSampling:
    case Part::kKvTransfer:
    case Part::kHost:
      return TensorClass::kScale;
  }
  return TensorClass::kScale;
}

Bytes WeightBytesByClass::Total() const {
  Bytes total = drafting;
  for (Bytes bytes : by_class) total += bytes;
  return total;
}

WeightBytesByClass WeightsByClass(const OpList& ops) {
  WeightBytesByClass weights;
  for (const Op& op : ops) {
    Bytes& bytes =
        op.draft ? weights.drafting
                 : weights.by_class[static_cast<size_t>(ClassOf(op.part))];
    bytes += op.repeat * op.held;
  }
  return weights;
}

Bytes ExpertPadding(const OpList& ops, const ModelGraph& graph,
                    int64_t multiple) {
  Bytes padding;
  if (multiple <= 1) return padding;
  for (const Op& op : ops) {
    const auto* shape = std::get_if<GroupedGemmShape>(&op.shape);
    if (shape == nullptr || shape->weights != Format::kMxfp4) continue;
    const LayerKind& kind =
        graph.spec().layer_kinds[static_cast<size_t>(op.layer_kind)];
    int64_t width = shape->k;
    if (op.part != Part::kExpertDown) {
      // Gate and up are one matrix, whose halves are padded each.
      const bool gated = std::get<MixtureOfExperts>(kind.feed_forward).gated;
      width = gated ? shape->n / 2 : shape->n;
    }
    const int64_t padded = (width + multiple - 1) / multiple * multiple;
    padding +=
        op.repeat * op.held *
        (static_cast<double>(padded - width) / static_cast<double>(width));
  }
  return padding;
}

}  // namespace mansard::model
