#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitDense(const FeedForwardParts& parts, int64_t full_width,
                         bool gated, bool bias) {
  const int64_t width = layout_.PerRank(full_width);
  Emit(GemmOp(LinearShape(tokens_, gated ? 2 * width : width, hidden_), bias),
       parts.up);
  Emit(ActivationOp({tokens_, width, formats_.hidden}, gated),
       parts.activation);
  EmitLinear(parts.down, hidden_, width, bias);
}

void Lowering::EmitFeedForward(const DenseFeedForward& feed_forward) {
  EmitQuantize(Part::kFeedForwardQuantize, tokens_, hidden_);
  EmitDense({Part::kUpProj,
             Part::kActivation,
             {Part::kDownProj, Part::kDownQuantize}},
            feed_forward.intermediate_size, feed_forward.gated,
            feed_forward.bias);
}

void Lowering::EmitFeedForward(const MixtureOfExperts& experts) {
  Emit(GemmOp({.m = tokens_,
               .n = experts.expert_count,
               .k = hidden_,
               .input = formats_.hidden,
               .weights = formats_.native,
               .output = formats_.hidden,
               .compute = formats_.head_compute},
              false),
       Part::kRouter);
  Emit(RoutingOp({tokens_, experts.expert_count, formats_.hidden}),
       Part::kTopK);
  const int64_t rows = tokens_ * experts.experts_per_token;
  const int64_t width = layout_.PerRank(experts.expert_intermediate_size);
  EmitQuantize(Part::kFeedForwardQuantize, tokens_, hidden_);
  EmitExperts(Part::kExpertUp, experts, experts.gated ? 2 * width : width,
              hidden_, tokens_);
  Emit(ActivationOp({rows, width, formats_.hidden}, experts.gated),
       Part::kExpertActivation);
  EmitQuantize(Part::kExpertDownQuantize, rows, width);
  EmitExperts(Part::kExpertDown, experts, hidden_, width, rows);
  Emit(CombineOp(HiddenShape(), experts.experts_per_token), Part::kCombine);
  if (experts.shared_intermediate_size == 0) return;
  EmitDense({Part::kSharedUp,
             Part::kSharedActivation,
             {Part::kSharedDown, Part::kSharedDownQuantize}},
            experts.shared_intermediate_size, experts.gated, false);
  Emit(ResidualOp(HiddenShape()), Part::kSharedSum);
}

void Lowering::EmitExperts(Part part, const MixtureOfExperts& experts,
                           int64_t n, int64_t k, int64_t input_rows) {
  const GemmShape linear = LinearShape(0, n, k);
  Emit(GroupedGemmOp(
           {.rows = static_cast<double>(tokens_) * experts.experts_per_token,
            .distinct_experts = pass_.routing().DistinctExperts(
                tokens_, experts.experts_per_token, experts.expert_count),
            .experts = experts.expert_count,
            .n = n,
            .k = k,
            .input = linear.input,
            .weights = linear.weights,
            .output = linear.output,
            .compute = linear.compute},
           static_cast<double>(input_rows)),
       part);
}

}  // namespace mansard::model
