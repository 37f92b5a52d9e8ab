// What physics demands of one estimate, whatever it is of.
#pragma once

#include "model/estimate/estimate.h"

namespace mansard::testing {

// Relative difference that rounding of sums explains.
inline constexpr double kRounding = 1e-12;

void ExpectSame(double actual, double expected, const char* what);

// Of every op and of the step: floor, overlapped, estimate and serial are in
// that order, the estimate is within its interval; no rate is above its peak.
void ExpectInOrder(const model::Estimate& estimate,
                   const model::ModelGraph& graph);

// Attributed times are not negative and sum to the op's; ops, rows of the
// waterfall and bounds to the step's; what drafts is the step's draft time.
void ExpectTimesSumToTheStep(const model::Estimate& estimate);
// And bytes at HBM are those of the ops: of kernels that read nothing twice.
void ExpectSumsToTheStep(const model::Estimate& estimate);

struct Times {
  model::Seconds floor, estimate;
};
Times TimesOf(const model::Target& target, const model::ForwardPass& pass);

}  // namespace mansard::testing
