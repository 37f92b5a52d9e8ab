// Routed experts, and the ways of tokens to them and back.
#include <cmath>

#include "model/lower/lowering.h"

namespace mansard::model {
namespace {

int64_t WholeRows(double rows) { return static_cast<int64_t>(std::ceil(rows)); }

}  // namespace

ExpertLoad Lowering::LoadOf(const MixtureOfExperts& experts) const {
  // Ranks of one data rank have the same tokens.
  const int64_t tokens =
      layout_.data() == 1 ? tokens_ : passes_.expert_tokens();
  return BusiestRank(routing_, tokens, experts.experts_per_token,
                     experts.expert_count, layout_.expert());
}

ExchangeShape Lowering::ExchangeOf(const MixtureOfExperts& experts,
                                   const ExpertLoad& load, int64_t columns,
                                   Format format) const {
  const RankGroup& group = layout_.expert_group();
  return {.ranks = group.ranks,
          .tier = group.tier,
          .node_ranks = group.node_ranks,
          .tokens =
              static_cast<double>(GatheredTokens()) / layout_.ExchangeSlices(),
          .experts_per_token = experts.experts_per_token,
          .columns = columns,
          .format = format,
          .imbalance = load.imbalance,
          .experts = experts.expert_count,
          // Engines choose by the pass: both ways of a token are one kind.
          .kernels = pass_.phase() == Phase::kDecode
                         ? ExchangeKernels::kLowLatency
                         : ExchangeKernels::kThroughput};
}

void Lowering::EmitToExperts(const MixtureOfExperts& experts,
                             const ExpertLoad& load, int64_t columns,
                             Format input) {
  if (layout_.gather_group().ranks > 1) {
    Emit(AllGatherOp(Among(layout_.gather_group()),
                     ActivationBytes(input, GatheredTokens(), columns)),
         Part::kExpertGather);
  }
  if (layout_.ExchangesTokens()) {
    Emit(ExpertDispatchOp(ExchangeOf(experts, load, columns, input)),
         Part::kExpertDispatch);
  }
}

void Lowering::EmitFromExperts(const MixtureOfExperts& experts,
                               const ExpertLoad& load, int64_t columns) {
  if (layout_.ExchangesTokens()) {
    Emit(ExpertCombineOp(ExchangeOf(experts, load, columns, formats_.hidden)),
         Part::kExpertReturn);
  }
  if (layout_.gather_group().ranks > 1) {
    Emit(ReduceScatterOp(
             Among(layout_.gather_group()),
             ActivationBytes(formats_.hidden, GatheredTokens(), columns)),
         Part::kExpertScatter);
  }
}

// Of the tokens that are there: all, or those that came.
double Lowering::RowsPassed(const MixtureOfExperts& experts,
                            const ExpertLoad& load) const {
  const double tokens =
      layout_.ExchangesTokens()
          ? load.copies
          : static_cast<double>(layout_.data() == 1 ? tokens_
                                                    : passes_.expert_tokens());
  const double foreign = tokens * experts.experts_per_token - load.rows;
  return load.rows + fusion_.foreign_expert_rows * std::max(0.0, foreign);
}

void Lowering::EmitExpertLayers(const MixtureOfExperts& experts,
                                const ExpertLoad& load, int64_t across) {
  const double passed = RowsPassed(experts, load);
  const int64_t rows = WholeRows(passed);
  const int64_t width =
      layout_.ExpertWidthPerRank(experts.expert_intermediate_size);
  EmitExperts(Part::kExpertUp, experts, load, experts.gated ? 2 * width : width,
              across, load.copies);
  const GemmFormats& formats = FormatsOf(LinearClass::kExperts);
  ElementwiseShape shape{rows, width, formats_.hidden};
  shape.experts = formats.weights;
  Emit(ActivationOp(shape, experts.gated), Part::kExpertActivation);
  if (IsLowPrecision(formats.activations)) {
    Emit(QuantizeOp(shape, formats.activations), Part::kExpertDownQuantize);
  }
  EmitExperts(Part::kExpertDown, experts, load, across, width, load.rows);
  // One sum for each token that is there, of the rows that are.
  const int64_t sums = layout_.ExchangesTokens() ? WholeRows(load.copies)
                       : layout_.data() == 1     ? tokens_
                                                 : passes_.expert_tokens();
  shape.rows = sums;
  shape.columns = across;
  Op& combine =
      Emit(CombineOp(shape, experts.experts_per_token), Part::kCombine);
  if (layout_.expert() == 1) return;
  const double all = static_cast<double>(sums) * experts.experts_per_token;
  combine.work.activations_in *= passed / all;
  combine.work.vector *= passed / all;
}

void Lowering::EmitExperts(Part part, const MixtureOfExperts& experts,
                           const ExpertLoad& load, int64_t n, int64_t k,
                           double input_rows) {
  const GemmShape linear = LinearShape(LinearClass::kExperts, 0, n, k);
  Emit(GroupedGemmOp({.rows = load.rows,
                      .distinct_experts = load.distinct,
                      .experts = layout_.ExpertsPerRank(experts.expert_count),
                      .n = n,
                      .k = k,
                      .input = linear.input,
                      .weights = linear.weights,
                      .output = linear.output,
                      .compute = linear.compute,
                      .even = routing_.kind == ExpertRouting::Kind::kSpread},
                     input_rows, experts.expert_bias),
       part);
}

}  // namespace mansard::model
