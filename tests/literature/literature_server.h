// EstimateKernel on hardware that the literature describes: a rate, a
// bandwidth, a link, and kernels that reach them.
#pragma once

#include <map>
#include <string>

#include "mansard/v1/estimation_service.pb.h"
#include "model/base/format.h"

namespace mansard::testing {

struct LiteratureHardware {
  // By format, FLOP/s.
  std::map<model::Format, double> tensor_rates;
  double hbm_bytes_per_second = 1e12;
  // Between two devices, each way.
  double link_bytes_per_second = 1e11;
  // Of elements that pass from L2 to the units; the default hides nothing else.
  double l2_feed_bytes_per_second = 1e24;
  double tile_rows = 128;
  double tile_columns = 128;
};

// TPU v5e as the scaling literature has it: 1.97e14 bf16, 3.94e14 int8
// FLOP/s, 8.2e11 B/s, 4.5e10 B/s a link.
LiteratureHardware TpuV5e();
// 9.89e14 bf16 FLOP/s, 3.35e12 B/s.
LiteratureHardware H100();

// The request on an inline profile of the hardware: every fraction 1, no fixed
// costs, no cache that keeps activations, no vector limits.
v1::EstimateKernelResponse Ask(const LiteratureHardware& hardware,
                               const std::string& request);

// Seconds that the first op keeps a resource busy; 0 where it does not use it.
double Busy(const v1::EstimateKernelResponse& response,
            const std::string& resource);
// Compulsory bytes of the first op.
double Bytes(const v1::EstimateKernelResponse& response);

}  // namespace mansard::testing
