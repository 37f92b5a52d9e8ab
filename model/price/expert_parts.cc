#include "model/kernels/expert_gemm.h"
#include "model/price/fine_parts.h"
#include "model/price/part_basics.h"

namespace mansard::model {
namespace {

// The bytes of a weight hold its share of scales and of a bias.
ExpertGemmProblem ProblemOf(const Op& op, const GroupedGemmShape& shape,
                            const ResolvedHardware& hardware) {
  ExpertGemmProblem problem;
  problem.rows = shape.rows;
  problem.experts = shape.distinct_experts;
  problem.even = shape.even;
  problem.n = static_cast<double>(shape.n);
  problem.k = static_cast<double>(shape.k);
  problem.input_bytes = TraitsOf(shape.input).element_bits / 8.0;
  problem.weight_bytes =
      op.work.weights.value() / (problem.experts * problem.n * problem.k);
  problem.activations = op.work.activations();
  problem.warm = hardware.view.warm_cache;
  problem.l2_capacity = hardware.l2_capacity;
  return problem;
}

}  // namespace

Parts ExpertGemmParts(const Op& op, const GroupedGemmShape& shape,
                      const ExpertGemmFamily& family,
                      const ResolvedHardware& hardware) {
  const Device& device = hardware.view.device;
  const ExpertGemmTimes times = TimeExpertGemm(
      family,
      {hardware.multiprocessors, device.TensorRate(shape.compute), hardware.hbm,
       hardware.smem},
      ProblemOf(op, shape, hardware));
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction, true);
  parts.tensor_at_peak = TensorTimeAtPeak(op, device);
  if (times.smem > times.tensor) {
    parts.smem = times.smem;
  } else {
    parts.tensor = times.tensor;
  }
  parts.traffic.hbm_weights *= times.cold_share;
  parts.traffic.hbm_activations *= times.cold_share;
  parts.traffic.l2 = times.l2_bytes;
  parts.l2 = times.l2;
  parts.hbm = times.hbm;
  parts.chain = times.chain;
  parts.launch = times.launch;
  parts.sync = times.waves;
  return parts;
}

}  // namespace mansard::model
