// What the formulas of all kernel families begin with. Internal to model/price.
#pragma once

#include "model/price/op_parts.h"
#include "model/price/work_on_device.h"

namespace mansard::model {

// What every family starts from. Vector and special-function work runs at peak:
// its counts are approximate, and the families' fractions were fitted without
// it. HBM carries weights and KV, and activations where they do not stay in L2.
inline Parts Begin(const Op& op, const FamilyFacts& facts,
                   const ResolvedHardware& hardware, double hbm_fraction,
                   bool activations_in_hbm) {
  Parts parts;
  parts.family = &facts;
  parts.vector = op.work.vector / hardware.vector;
  parts.sfu = op.work.special / hardware.special;
  parts.traffic.hbm_weights = op.work.weights;
  parts.traffic.hbm_kv = op.work.kv_read + op.work.kv_write;
  if (activations_in_hbm) {
    parts.traffic.hbm_activations = op.work.activations();
  }
  parts.hbm = parts.traffic.hbm() / (hardware.hbm * hbm_fraction);
  return parts;
}

inline void SetTensorTime(const Op& op, const Device& device,
                          double peak_fraction, Parts& parts) {
  parts.tensor_at_peak = TensorTimeAtPeak(op, device);
  parts.tensor = parts.tensor_at_peak / peak_fraction;
}

inline void AddL2Work(Bytes moved, BytesPerSecond feed, Parts& parts) {
  parts.traffic.l2 = moved;
  parts.l2 = moved / feed;
}

}  // namespace mansard::model
