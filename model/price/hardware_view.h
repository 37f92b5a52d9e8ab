// What ops are priced on.
#pragma once

#include "model/hardware/device.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

// The parts outlive the view.
struct HardwareView {
  const Device& device;
  const Fabric& fabric;
  const KernelStack& stack;
  // Only to judge measurements that repeat themselves: caches and weights that
  // the last run left in L2 are found there. In serving they are not.
  bool warm_cache = false;
};

}  // namespace mansard::model
