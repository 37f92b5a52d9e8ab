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
};

}  // namespace mansard::model
