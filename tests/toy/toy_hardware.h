// Hardware with round numbers, so that times can be worked out by hand.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/hardware/hardware_profile.h"

namespace mansard::testing {

// Round numbers a test may change before it builds the profile.
struct ToyHardware {
  model::DeviceSpec device;
  model::FabricSpec fabric;
  model::KernelStackSpec stack;

  // 1e15 bf16 and 2e15 fp8 FLOP/s on tensor units, 1e14 fp32 on vector units,
  // 1e13 exp/s; HBM 80e9 B at 1e12 B/s; L2 50e6 B, bandwidth unknown; NVLink
  // 1e11 B/s each way among 8, no reduction in the switch. Every fraction is 1,
  // L2 feeds 1e13 B/s, tiles 128 x 128; launch 1 us, wave 2 us, combine 3 us;
  // one collective line: 10 us + 1 us a step, 1e11 B/s. No host cost.
  ToyHardware();

  std::shared_ptr<const model::HardwareProfile> Build() const;
};

}  // namespace mansard::testing
