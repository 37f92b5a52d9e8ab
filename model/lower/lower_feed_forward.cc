#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitDense(LinearClass linear, const FeedForwardParts& parts,
                         int64_t full_width, bool gated, bool bias) {
  const int64_t width = layout_.PerRank(full_width);
  Emit(GemmOp(LinearShape(linear, tokens_, gated ? 2 * width : width, hidden_),
              bias),
       parts.up);
  Emit(ActivationOp({tokens_, width, formats_.hidden}, gated),
       parts.activation);
  EmitLinear(linear, parts.down, hidden_, width, bias);
}

void Lowering::EmitFeedForward(const DenseFeedForward& feed_forward) {
  EmitQuantize(Part::kFeedForwardQuantize, LinearClass::kFeedForward, tokens_,
               hidden_);
  EmitDense(LinearClass::kFeedForward,
            {Part::kUpProj,
             Part::kActivation,
             {Part::kDownProj, Part::kDownQuantize}},
            feed_forward.intermediate_size, feed_forward.gated,
            feed_forward.bias);
}

bool Lowering::ReducesItself(const FeedForward& feed_forward) {
  const auto* experts = std::get_if<MixtureOfExperts>(&feed_forward);
  return experts != nullptr &&
         (experts->separate_norms || experts->latent_norm);
}

void Lowering::EmitFeedForward(const MixtureOfExperts& experts) {
  Format input = formats_.hidden;
  EmitInputQuantize(Part::kRouterQuantize, LinearClass::kRouter, input);
  Emit(GemmOp(LinearShape(LinearClass::kRouter, tokens_, experts.expert_count,
                          hidden_),
              experts.router_bias),
       Part::kRouter);
  Emit(RoutingOp({tokens_, experts.expert_count, formats_.hidden}),
       Part::kTopK);
  EmitRouted(experts, input);
  if (experts.shared_intermediate_size != 0) EmitShared(experts, input);
}

// Routed and shared experts read the same vectors, unless the routed ones have
// a norm of their own.
void Lowering::EmitRouted(const MixtureOfExperts& experts, Format& input) {
  Format own = formats_.hidden;
  Format& format = experts.separate_norms ? own : input;
  if (experts.separate_norms) EmitPlainNorm(Part::kExpertInputNorm);
  int64_t across = hidden_;  // What an expert reads and writes.
  if (experts.latent_size != 0) {
    across = experts.latent_size;
    EmitInputQuantize(Part::kLatentDownQuantize, LinearClass::kLatentExperts,
                      format);
    Emit(GemmOp(
             LinearShape(LinearClass::kLatentExperts, tokens_, across, hidden_),
             false),
         Part::kLatentDown);
    EmitQuantize(Part::kFeedForwardQuantize, LinearClass::kExperts, tokens_,
                 across);
  } else {
    EmitInputQuantize(Part::kFeedForwardQuantize, LinearClass::kExperts,
                      format);
  }
  const ExpertLoad load = LoadOf(experts);
  const Format sent = FormatsOf(LinearClass::kExperts).activations;
  EmitToExperts(experts, load, across,
                IsLowPrecision(sent) ? sent : formats_.hidden);
  EmitExpertLayers(experts, load, across);
  EmitFromExperts(experts, load, across);
  if (experts.latent_size != 0) EmitLatentUp(experts);
  if (!experts.separate_norms) return;
  // A norm on the way up has reduced already.
  if (!experts.latent_norm) EmitAllReduce(Part::kFeedForwardAllReduce);
  EmitPlainNorm(Part::kExpertOutputNorm);
}

// Without a norm the projection is of the rank's own sum: linear, as the sum
// over ranks that comes later.
void Lowering::EmitLatentUp(const MixtureOfExperts& experts) {
  const int64_t size = experts.latent_size;
  if (experts.latent_norm) {
    EmitAllReduce(Part::kFeedForwardAllReduce, size);
    Emit(NormOp({tokens_, size, formats_.hidden}, false, formats_.native),
         Part::kLatentNorm);
  }
  EmitLinear(LinearClass::kLatentExperts,
             {Part::kLatentUp, Part::kLatentUpQuantize}, hidden_, size, false);
}

void Lowering::EmitShared(const MixtureOfExperts& experts, Format& input) {
  EmitInputQuantize(Part::kFeedForwardQuantize, LinearClass::kSharedExperts,
                    input);
  EmitDense(LinearClass::kSharedExperts,
            {Part::kSharedUp,
             Part::kSharedActivation,
             {Part::kSharedDown, Part::kSharedDownQuantize}},
            experts.shared_intermediate_size, experts.shared_gated, false);
  if (experts.shared_expert_gate) {
    Emit(WideGemm(tokens_, 1, hidden_, false), Part::kSharedGateProj);
    Emit(RowGateOp(HiddenShape()), Part::kSharedGate);
  }
  if (ReducesItself(experts)) EmitAllReduce(Part::kFeedForwardAllReduce);
  if (experts.separate_norms) EmitPlainNorm(Part::kSharedOutputNorm);
  Emit(ResidualOp(HiddenShape()), Part::kSharedSum);
}

}  // namespace mansard::model
