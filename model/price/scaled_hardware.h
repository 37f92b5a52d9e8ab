// Hardware with one of its resources faster or slower: what sensitivities are
// priced on. Formulas and their choice of tiles, splits and protocols run
// again on the changed numbers.
#pragma once

#include "model/hardware/device.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_stack.h"
#include "model/price/hardware_view.h"
#include "model/price/resource.h"

namespace mansard::model {

// Copies of device, fabric and stack.
struct OwnedHardware {
  Device device;
  Fabric fabric;
  KernelStack stack;
  bool warm_cache = false;

  // Of this, which outlives it.
  HardwareView view() const { return {device, fabric, stack, warm_cache}; }
};

// `factor` times the speed of one resource. Rates: datasheet and fitted ones,
// those of single multiprocessors included. Launch, sync and host: their times
// divided by it. What a kernel family's parameter belongs to is where its time
// is attributed. Precondition: factor > 0.
OwnedHardware Faster(const HardwareView& hardware, Resource resource,
                     double factor);

// `factor` times the rates of collectives and exchanges on a tier: a stack for
// another fabric than the one it knows. `inside`: what connects the devices of
// a node.
KernelStack WithLinkRates(const KernelStack& stack, LinkTier tier,
                          double factor, LinkTier inside);

// With `taken` multiprocessors fewer, and what they compute and hold.
// Precondition: the device has more, by a number that is known.
OwnedHardware WithoutMultiprocessors(const HardwareView& hardware, int taken);

}  // namespace mansard::model
