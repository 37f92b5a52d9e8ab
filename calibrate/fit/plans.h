// Which families are fitted to which rows.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"

namespace mansard::calibrate {

// The plans of the row's table, see MakePlans; and the order in which plans are
// fitted: later ones stand on earlier ones' families.
struct RowPlans {
  int order = 0;
  std::vector<FitPlan> plans;
};
RowPlans PlansFor(const model::Device& device, const MeasuredCase& measured);

}  // namespace mansard::calibrate
