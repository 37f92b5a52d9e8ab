#include "model/estimate/op_dependence.h"

#include <variant>

#include "model/workload/expert_load.h"

namespace mansard::model {
namespace {

const LayerKind* KindOf(const Op& op, const Target& target) {
  if (op.layer_kind < 0) return nullptr;
  return &target.graph().spec().layer_kinds[static_cast<size_t>(op.layer_kind)];
}

bool HasIndexer(const Op& op, const Target& target) {
  const LayerKind* kind = KindOf(op, target);
  if (kind == nullptr || !kind->attention.has_value()) return false;
  const auto* latent = std::get_if<LatentAttention>(&*kind->attention);
  return latent != nullptr && latent->indexer.has_value();
}

bool IsOfLogits(Part part) {
  return part == Part::kHeadProj || part == Part::kHeadQuantize ||
         part == Part::kHead || part == Part::kLogitsAllGather ||
         part == Part::kSampling;
}

bool IsOfExpertTokens(Part part) {
  return part == Part::kExpertUp || part == Part::kExpertActivation ||
         part == Part::kExpertDownQuantize || part == Part::kExpertDown ||
         part == Part::kCombine;
}

bool IsOfOneGroup(const Op& op) {
  return std::holds_alternative<AttentionShape>(op.shape) ||
         std::holds_alternative<LatentAttentionShape>(op.shape) ||
         std::holds_alternative<CompressedAttentionShape>(op.shape) ||
         std::holds_alternative<IndexShape>(op.shape) ||
         std::holds_alternative<RecurrentShape>(op.shape);
}

Op Exchange(const Op& sample, const StepCounts& counts, const Layout& layout) {
  ExchangeShape shape = std::get<ExchangeShape>(sample.shape);
  shape.tokens =
      static_cast<double>(counts.tokens * layout.gather_group().ranks) /
      layout.ExchangeSlices();
  shape.imbalance =
      BusiestRank({}, counts.expert_tokens, shape.experts_per_token,
                  shape.experts, layout.expert())
          .imbalance;
  shape.kernels = counts.phase == Phase::kDecode ? ExchangeKernels::kLowLatency
                                                 : ExchangeKernels::kThroughput;
  return sample.kind == OpKind::kExpertDispatch ? ExpertDispatchOp(shape)
                                                : ExpertCombineOp(shape);
}

Op Convolution(const Op& sample, const StepCounts& counts,
               const Target& target) {
  ElementwiseShape shape = std::get<ElementwiseShape>(sample.shape);
  shape.rows = counts.tokens;
  const RecurrentMixer& mixer = *KindOf(sample, target)->recurrent;
  return ConvolutionOp(shape,
                       {.kernel = mixer.conv_kernel,
                        .bias = mixer.conv_bias,
                        .filter_format = target.formats().native},
                       counts.states_read, counts.requests);
}

Op Pool(const Op& sample, const StepCounts& counts, const ForwardPass& pass,
        const Target& target) {
  ElementwiseShape shape = std::get<ElementwiseShape>(sample.shape);
  shape.rows = counts.tokens;
  const auto& attention =
      std::get<CompressedAttention>(*KindOf(sample, target)->attention);
  const bool of_index = sample.part == Part::kIndexPool;
  const PassFormats& formats = target.formats();
  Pooling pooling{.decoded_rows = counts.decode_tokens,
                  .entry_size = of_index ? attention.indexer->head_size
                                         : attention.head_size,
                  .ratio = attention.ratio,
                  .weights = formats.native,
                  .state = formats.precision.state,
                  .kv_cache = formats.precision.kv_cache};
  for (const RequestGroup& group : pass.groups()) {
    pooling.entries +=
        EntriesMade(OnDataRank(group, target.layout()), attention.ratio);
  }
  return CompressOp(shape, pooling);
}

// What expands latent vectors, or quantises them first. To the bit as it is
// lowered: blocks of k are counted in the bytes of an element.
Op Expansion(const Op& sample, const StepCounts& counts, const Target& target) {
  const PassFormats& formats = target.formats();
  Op op = sample;
  int64_t rank = 0;
  if (const auto* like = std::get_if<GemmShape>(&sample.shape)) {
    GemmShape shape = *like;
    shape.m = counts.prompt_positions;
    rank = shape.k;
    op = GemmOp(shape, false);
  } else {
    ElementwiseShape shape = std::get<ElementwiseShape>(sample.shape);
    const Format made = *shape.made;
    shape.rows = counts.prompt_positions;
    shape.made = std::nullopt;
    rank = shape.columns;
    op = QuantizeOp(shape, made);
  }
  op.work.activations_in =
      ActivationBytes(formats.hidden, counts.prompt_tokens, rank);
  op.work.kv_read = ElementBytes(
      formats.precision.kv_cache,
      static_cast<double>(counts.prompt_cached) * static_cast<double>(rank));
  return op;
}

}  // namespace

OpDependence DependenceOf(const Op& op, const Target& target) {
  if (op.kind == OpKind::kHost) return OpDependence::kHost;
  if (IsOfOneGroup(op)) return OpDependence::kGroup;
  if (op.kind == OpKind::kConvolution || op.kind == OpKind::kCompress ||
      std::holds_alternative<ExchangeShape>(op.shape)) {
    return OpDependence::kPass;
  }
  if (IsOfLogits(op.part)) return OpDependence::kLogits;
  if (op.part == Part::kKvExpand || op.part == Part::kKvQuantize) {
    return op.work.kv_read > Bytes::Zero() ? OpDependence::kLatents
                                           : OpDependence::kPromptPositions;
  }
  if (op.part == Part::kAbsorbQuery || op.part == Part::kAbsorbValue) {
    return HasIndexer(op, target) ? OpDependence::kTokens
                                  : OpDependence::kDecodeTokens;
  }
  return IsOfExpertTokens(op.part) ? OpDependence::kExpertTokens
                                   : OpDependence::kTokens;
}

Op ForGroup(const Op& sample, const RequestGroup& group, Phase phase,
            const Target& target) {
  if (const auto* like = std::get_if<AttentionShape>(&sample.shape)) {
    AttentionShape shape = *like;
    shape.group = group;
    shape.with_prompts = phase == Phase::kMixed;
    Op op = AttentionOp(shape);
    op.work.weights = sample.work.weights;  // Sinks.
    return op;
  }
  if (const auto* like = std::get_if<LatentAttentionShape>(&sample.shape)) {
    LatentAttentionShape shape = *like;
    shape.group = group;
    return LatentAttentionOp(shape);
  }
  if (const auto* like = std::get_if<IndexShape>(&sample.shape)) {
    IndexShape shape = *like;
    shape.group = group;
    return sample.kind == OpKind::kSelect ? SelectOp(shape)
                                          : IndexScoresOp(shape);
  }
  if (const auto* like = std::get_if<RecurrentShape>(&sample.shape)) {
    RecurrentShape shape = *like;
    shape.group = group;
    return StateOp(shape, target.formats().native);
  }
  CompressedAttentionShape shape =
      std::get<CompressedAttentionShape>(sample.shape);
  shape.group = group;
  Op op = CompressedAttentionOp(shape);
  op.work.weights = sample.work.weights;
  return op;
}

Op ForPass(const Op& sample, const StepCounts& counts, const ForwardPass& pass,
           const Target& target) {
  if (sample.kind == OpKind::kHost) {
    return HostOp({counts.requests, counts.prompt_tokens});
  }
  if (sample.kind == OpKind::kConvolution) {
    return Convolution(sample, counts, target);
  }
  if (sample.kind == OpKind::kCompress) {
    return Pool(sample, counts, pass, target);
  }
  if (std::holds_alternative<ExchangeShape>(sample.shape)) {
    return Exchange(sample, counts, target.layout());
  }
  return Expansion(sample, counts, target);
}

bool IsPricedAs(const Op& one, const Op& other) {
  return one.kind == other.kind && one.work == other.work &&
         one.shape == other.shape;
}

}  // namespace mansard::model
