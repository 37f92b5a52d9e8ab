// What an op keeps busy, before its parts are put together. Internal to
// model/price, but for OpPricer's member.
#pragma once

#include "model/base/units.h"
#include "model/hardware/kernel_stack.h"
#include "model/ops/op.h"
#include "model/price/communication_way.h"
#include "model/price/hardware_view.h"
#include "model/price/resource.h"
#include "model/price/traffic.h"

namespace mansard::model {

struct Parts {
  // Busy times that overlap inside the kernel.
  Seconds tensor;
  Seconds smem;
  Seconds chain;  // Dependent steps inside the kernel; counts as sync.
  Seconds vector;
  Seconds sfu;
  Seconds l2;
  Seconds hbm;
  Seconds link;
  Resource link_resource = Resource::kNvlink;  // Where `link` is spent.
  // Of ranks in several nodes, where `link` is what they spend inside theirs.
  Seconds network;
  Resource network_resource = Resource::kRdma;
  // Fixed costs that nothing hides.
  Seconds launch;
  Seconds sync;
  Seconds host;
  Seconds droop;      // What sustained power costs the tensor units.
  Seconds l2_fix_up;  // Partial sums through L2.
  Seconds hbm_after;  // Memory traffic before or after all computation.

  Traffic traffic;
  Seconds tensor_at_peak;               // Tensor work at the datasheet rate.
  const FamilyFacts* family = nullptr;  // Null: host costs.
  bool extrapolated = false;
  bool transferred = false;  // The family was fitted to something else.
  CommunicationWay way = {};
};

// The hardware with its rates looked up, once for a list of ops. Work at a rate
// that no source gives takes no time: such a rate is infinite.
struct ResolvedHardware {
  explicit ResolvedHardware(const HardwareView& hardware);

  HardwareView view;
  FlopsPerSecond vector;
  FlopsPerSecond special;
  BytesPerSecond hbm;
  BytesPerSecond l2;
  Bytes l2_capacity;
  double multiprocessors;  // 1 where the device does not say.
  Bytes smem;              // Of one; infinite where the device does not say.
};

}  // namespace mansard::model
