// Which ops of a pass can be timed before the pass is known, and how the others
// are made again for a pass.
#pragma once

#include "model/estimate/estimate.h"
#include "model/estimate/step_counts.h"
#include "model/ops/op.h"

namespace mansard::model {

// What decides an op's shape and work. Of passes without drafts and encoder
// positions, with tokens that choose their experts independently, on layouts of
// one stage and one context rank.
enum class OpDependence {
  // One count.
  kTokens,
  kExpertTokens,
  kDecodeTokens,
  kPromptPositions,
  kLogits,
  // More than one.
  kGroup,    // One group's.
  kPass,     // Several counts.
  kLatents,  // Prompt positions and how many of them are cached.
  kHost,
};
OpDependence DependenceOf(const Op& op, const Target& target);

// The same op for another group; `sample` depends on kGroup.
Op ForGroup(const Op& sample, const RequestGroup& group, Phase phase,
            const Target& target);

// The same op for another pass; `sample` depends on kPass, kLatents or kHost.
Op ForPass(const Op& sample, const StepCounts& counts, const ForwardPass& pass,
           const Target& target);

// Times the same on all hardware.
bool IsPricedAs(const Op& one, const Op& other);

}  // namespace mansard::model
