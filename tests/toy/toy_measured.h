// Measured rows and the hardware that answers for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/tables/measured_case.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {

// The toy hardware as "h100-sxm", with a stack for each id, the first one's
// tier kSpec and the others' kCalibrated.
inline model::ShippedData ToyData(const std::vector<std::string>& stacks) {
  const auto toy = testing::ToyHardware().Build();
  std::vector<model::KernelStack> built;
  model::Violations violations;
  for (const std::string& id : stacks) {
    model::KernelStackSpec spec = toy->stacks().front().spec();
    spec.id = id;
    if (!built.empty()) {
      spec.gemm[0].facts.tier = model::Tier::kCalibrated;
    }
    built.push_back(*model::KernelStack::Create(spec, violations));
  }
  model::ShippedData data;
  data.profiles["h100-sxm"] = std::make_shared<const model::HardwareProfile>(
      *model::HardwareProfile::Create("h100-sxm", "Toy", toy->device(),
                                      toy->fabrics(), std::move(built),
                                      violations));
  return data;
}

// 2e9 bytes of weights at 1e12 B/s: 2000 us, and 3 us of launch and wave.
inline model::Op LongOp() {
  return model::GemmOp({.m = 1, .n = 1000, .k = 1000000}, false);
}

inline MeasuredCase CaseOf(model::OpList ops, double microseconds) {
  MeasuredCase measured;
  measured.table = "gemm";
  measured.device = "H100_SXM";
  measured.framework = "vLLM";
  measured.version = "0.19.0";
  measured.slice = "bf16";
  measured.measured = model::Microseconds(microseconds);
  measured.side = Side::kHeldOut;
  measured.ops = [ops = std::move(ops)](const model::Device&,
                                        const model::KernelStack&) {
    return std::optional<model::OpList>(ops);
  };
  return measured;
}

}  // namespace mansard::calibrate
