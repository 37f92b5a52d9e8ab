// What a fabric's bandwidth is of the one that kernel stacks' rates are of.
#pragma once

#include <string>

#include "model/hardware/fabric.h"
#include "model/hardware/hardware_profile.h"

namespace mansard::model {

// Of the tier's bandwidth to that of the profile's first fabric with the tier.
double LinkFactor(const HardwareProfile& hardware, const Fabric& fabric,
                  LinkTier tier);

// What it means that the factor is not 1.
std::string LinkFactorAssumption(LinkTier tier, double factor);

}  // namespace mansard::model
