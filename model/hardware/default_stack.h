// The "generic" kernel stack of a device that ships none.
//
// Everything is scaled from the device's own numbers by one set of rules:
// - Fixed times (launch, wave, combine) are the H100's, in absolute time: they
//   do not scale with the chip.
// - Fractions of the tensor rate go by operand width (16 bit .75, 8 bit .65,
//   4 bit .55), unless a measurement of the device replaces them; prefill goes
//   by head size (.45, .65, .75, .70 for 64, 128, 192, 256).
// - Fractions of HBM: GEMM .85, decode attention .90, element-wise .80.
// - L2 feed of GEMMs: on NVIDIA devices the H100's 16.9 TB/s by multiprocessors
//   x clock (Volta, Turing, Ampere: the A100's 4.2 TB/s, they do not
//   multicast), else the measured L2 bandwidth, else 4 x HBM. Of the other
//   kernels: the measured L2 bandwidth, else the H100's 7.8 (A100's 5.4) TB/s
//   scaled the same way, else 4 x HBM.
// - Collectives, for each tier of the fabrics: NCCL's tuning constants for a
//   ring, latency x 1.3, link bandwidth x 0.65, as if all devices of the domain
//   took part.
// - Memory: DefaultEngineMemory.
#pragma once

#include <optional>
#include <vector>

#include "model/base/violations.h"
#include "model/hardware/device.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

// Best shares of the tensor rate that measurements of the device show.
struct AchievedFractions {
  std::optional<Sourced<double>> gemm_16bit;
  std::optional<Sourced<double>> gemm_8bit;
  std::optional<Sourced<double>> gemm_4bit;
};

// Where a tier is in several fabrics, the first sets its collectives. All
// families are of Tier::kSpec. Empty with violations where a fraction is out of
// range or scaling overflows.
std::optional<KernelStack> DefaultStack(const Device& device,
                                        const std::vector<Fabric>& fabrics,
                                        const AchievedFractions& achieved,
                                        Violations& violations);

}  // namespace mansard::model
