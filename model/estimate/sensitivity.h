// What a step gains from more of each resource.
#pragma once

#include <vector>

#include "model/estimate/estimate.h"
#include "model/price/resource.h"

namespace mansard::model {

struct Sensitivity {
  Resource resource = Resource::kTensor;
  Seconds time;  // The step's, with the change.
  Seconds gain;  // How much sooner it is done; negative where it is not.
  // Of the step, by attribution. For small changes the gain is this share of
  // the change; larger ones gain less, as other resources take over.
  double share = 0;
};

inline constexpr double kSensitivityChange = 0.1;

// One a resource, in order, priced anew with its rates (1 + change)-fold, or
// its times (1 - change)-fold where it is launch, sync or host. `phase`: the
// pass's own estimate. Precondition: 0 < change < 1.
std::vector<Sensitivity> SensitivitiesOf(const Target& target,
                                         const ForwardPass& pass,
                                         const PhaseEstimate& phase,
                                         double change = kSensitivityChange);

}  // namespace mansard::model
