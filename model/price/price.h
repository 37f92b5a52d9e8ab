// Op x hardware -> OpTime: the hierarchical roofline.
//
// Every op has busy times t_i at resources that overlap inside the kernel
// (tensor, vector, sfu, l2, hbm, links) and fixed costs that nothing hides
// (launch, sync, host):
//   T_core   = (sum t_i^p)^(1/p), p = 4      estimate   = fixed + T_core
//   overlapped = fixed + max t_i             serial     = fixed + sum t_i
//   attributed_i = t_i^p / sum t^p * T_core; a fixed cost is attributed whole
// p = 4 after the design's fit of GEMM tables on H100 and A100 (5.1 / 5.8 %
// MAPE; p = 1 10.4 / 11.0 %, hard max 5.2 / 6.4 %).
#pragma once

#include <vector>

#include "model/base/units.h"
#include "model/hardware/kernel_stack.h"
#include "model/ops/op.h"
#include "model/price/hardware_view.h"
#include "model/price/op_parts.h"
#include "model/price/resource.h"
#include "model/price/traffic.h"

namespace mansard::model {

// Times of one repeat of an op.
struct OpTime {
  PerResource<Seconds> busy;
  PerResource<Seconds> attributed;  // Sums to `estimate`.
  Seconds floor;                    // <= overlapped <= estimate <= serial.
  Seconds overlapped;
  Seconds estimate;
  Seconds serial;
  Seconds p10;
  Seconds p90;
  Traffic traffic;
  Seconds tensor_at_peak;  // Tensor work at the datasheet rate.
  Resource limiting = Resource::kHbm;
  Tier tier = Tier::kSpec;
  bool extrapolated = false;  // Beyond what its family was fitted on.
  bool raised_to_floor = false;
  const FamilyFacts* family = nullptr;  // Null: host costs.
  CommunicationWay way = {};
};

// Precondition: the stack serves the op (GEMM family for its compute format,
// collective family for its tier; checked when a target is resolved).
OpTime Price(const Op& op, const HardwareView& hardware);

std::vector<OpTime> PriceAll(const OpList& ops, const HardwareView& hardware);
// The same into a list that the caller keeps: what it held is dropped, its
// memory is used again.
void PriceAll(const OpList& ops, const HardwareView& hardware,
              std::vector<OpTime>& times);

// Without CUDA graphs, what of the host's launches a device does not cover that
// is busy for `device`; with them nothing. The host op is the last of the list.
Seconds ExposedLaunches(const OpList& ops, const HostCost& host,
                        Seconds device);
void AddExposedLaunches(Seconds exposed, OpTime& host);

// What PriceAll's estimates add up to over all repeats, bit for bit as
// Aggregate adds them, and nothing else of them. Allocates nothing.
Seconds SumOfEstimates(const OpList& ops, const HardwareView& hardware);

// Prices single ops on hardware that is looked up once. The view's parts
// outlive it. Immutable; may be shared between threads.
class OpPricer {
 public:
  explicit OpPricer(const HardwareView& hardware) : hardware_(hardware) {}
  // Price(op).estimate, bit for bit. Allocates nothing.
  Seconds Estimate(const Op& op) const;

 private:
  ResolvedHardware hardware_;
};

// Compulsory work at datasheet rates, everything overlapped: max over tensor
// units, HBM, L2 and link. HBM carries weights, KV and the activations of ops
// whose activation footprint exceeds L2; smaller ones are charged to L2, left
// out where no source gives its bandwidth. Vector and special-function counts
// are approximate and not compulsory: they are left out.
Seconds FloorOf(const Op& op, const HardwareView& hardware);

// One line an op, for golden tests and people.
std::string DumpTimes(const OpList& ops, const std::vector<OpTime>& times,
                      const ModelGraph& graph);

}  // namespace mansard::model
