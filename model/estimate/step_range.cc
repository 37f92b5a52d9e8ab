// Engine::RangeOf.

#include <algorithm>

#include "model/estimate/engine.h"

namespace mansard::model {

std::optional<StepRange> Engine::RangeOf(const StepCounts& least,
                                         const ForwardPass* least_groups,
                                         const StepCounts& most,
                                         const ForwardPass& most_groups) const {
  if (SourceOfKind(most_groups) != StepSource::kEngine || !Holds(most)) {
    return std::nullopt;
  }
  Sum low;
  Sum high;
  const auto add = [&](CurveIndex index, int64_t first, int64_t last) {
    if (last == 0) return;
    const Curve& curve = curves_[index];
    const TimeCurve::Extremes times =
        curve.times.Over(std::max(first, int64_t{1}), last);
    high.Add(curve.launches, Seconds::Zero());
    high.time += times.most;
    if (first == 0) return;
    low.Add(curve.launches, Seconds::Zero());
    low.time += times.least;
  };
  add(kTokens, least.tokens, most.tokens);
  add(kExpertTokens, least.expert_tokens, most.expert_tokens);
  add(kDecodeTokens, least.decode_tokens, most.decode_tokens);
  add(kLogits, least.logits, most.logits);
  add(most.prompt_cached == 0 ? kFreshPrompts : kCachedPrompts,
      least.prompt_positions, most.prompt_positions);
  AddGroups(most, most_groups, high);
  // More tokens are spread more evenly, which is all that makes a rank's
  // exchange take less: the evenness of one end with the tokens of the other.
  StepCounts slowest = most;
  slowest.expert_tokens = std::max(least.expert_tokens, int64_t{1});
  AddPassOps(slowest, most_groups, high);
  if (least_groups != nullptr) {
    AddGroups(least, *least_groups, low);
    StepCounts fastest = least;
    fastest.expert_tokens = most.expert_tokens;
    AddPassOps(fastest, *least_groups, low);
  }
  return StepRange{Total(least, low), Total(most, high)};
}

}  // namespace mansard::model
