// The time of a step by kinds of work, and how many ops of each it has: what an
// engine's costs are fitted over.
#pragma once

#include <array>

#include "model/base/units.h"
#include "model/estimate/estimate.h"
#include "model/hardware/engine_costs.h"
#include "model/ops/op.h"

namespace mansard::model {

// Linear in passes: weighted sums of steps are sums of these.
struct StepGroups {
  std::array<Seconds, kOpGroupCount> times{};
  std::array<double, kOpGroupCount> ops{};  // With repeats.
  Seconds floor;

  Seconds Total() const;
  // Of an engine that adds these costs, where the times are of kernels alone.
  Seconds With(const OpCosts& costs) const;
  void Add(const StepGroups& other, double weight);
};

// Total() is StepTimer::Estimate of the pass, but for rounding.
// Preconditions: no pipeline, no overlap and no transfer of keys and values.
// `ops` keeps its memory from call to call.
StepGroups GroupsOfStep(const Target& target, const ForwardPass& pass,
                        OpList& ops);

}  // namespace mansard::model
