// A step on the roofline: ceilings, the ops, and where bounds flip.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/estimate/estimate.h"
#include "model/estimate/roofline_ceilings.h"

namespace mansard::model {

struct RooflinePoint {
  size_t op = 0;           // Index into the estimate's ops.
  FlopsPerByte intensity;  // Tensor and vector work; zero without bytes.
  FlopsPerSecond achieved;
  double time_ratio = 0;  // Of the step, all repeats.
};

enum class RooflineAxis { kTokens, kContext, kBatch };
absl::string_view RooflineAxisName(RooflineAxis axis);

struct RooflineCrossover {
  std::optional<size_t> op;  // Index into the estimate's ops; empty: the step.
  RooflineAxis axis = RooflineAxis::kTokens;
  int64_t value = 0;  // The smallest at which `to` is ahead.
  std::string from;
  std::string to;
  bool calibrated = false;
};

struct Roofline {
  std::vector<RooflineCeiling> ceilings;
  std::vector<RooflinePoint> points;  // Host costs have none.
  std::vector<RooflineCrossover> crossovers;
};

// Crossovers within limits that are searched by doubling and halving: rows of a
// GEMM to 2^24, batch to 2^19 (one group of decodes), context to 1e9 (decodes
// alone). Each lowers or estimates the step or the op anew, some tens of times;
// `keep_going` is asked before each step and before each op. Once it says no it
// is not asked again, and the result is empty.
std::optional<Roofline> ExplainRoofline(const Target& target,
                                        const ForwardPass& pass,
                                        const Estimate& estimate,
                                        RooflineLevel level,
                                        absl::FunctionRef<bool()> keep_going);

}  // namespace mansard::model
