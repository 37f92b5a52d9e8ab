#include "model/estimate/step_groups.h"

#include "model/lower/lower.h"
#include "model/price/op_group.h"
#include "model/price/price.h"

namespace mansard::model {

Seconds StepGroups::Total() const {
  Seconds sum;
  for (const Seconds time : times) sum += time;
  return sum;
}

Seconds StepGroups::With(const OpCosts& costs) const {
  Seconds sum;
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    sum += costs[i].factor * times[i] + ops[i] * costs[i].each;
  }
  return sum;
}

void StepGroups::Add(const StepGroups& other, double weight) {
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    times[i] += weight * other.times[i];
    ops[i] += weight * other.ops[i];
  }
  floor += weight * other.floor;
}

StepGroups GroupsOfStep(const Target& target, const ForwardPass& pass,
                        OpList& ops) {
  Lower(target.graph(), pass, target.layout(), target.formats(),
        target.fusion(), ops);
  const HardwareView view = target.view();
  const OpPricer pricer(view);
  StepGroups groups;
  for (const Op& op : ops) {
    const auto group = static_cast<size_t>(OpGroupOf(op));
    groups.times[group] += op.repeat * pricer.Estimate(op);
    groups.ops[group] += op.repeat;
    groups.floor += op.repeat * FloorOf(op, view);
  }
  return groups;
}

}  // namespace mansard::model
