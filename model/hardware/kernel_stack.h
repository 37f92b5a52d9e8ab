// How well software uses a device: kernel families by what they serve, and what
// the host adds.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/collective_algorithm.h"
#include "model/hardware/engine_costs.h"
#include "model/hardware/engine_memory.h"
#include "model/hardware/fabric.h"
#include "model/hardware/fine_families.h"
#include "model/hardware/kernel_families.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

struct HostCost {
  Seconds step;
  Seconds request;
  Seconds prefill_token;
  Seconds eager_launch;
  bool cuda_graphs = true;
  Provenance provenance;
};

struct Fusion {
  bool residual_into_norm = true;
  // Scores stay on the chip (FlashAttention).
  bool attention = true;
  // Of the rows whose experts other ranks hold, the share that this rank's
  // element-wise kernels of the experts pass over all the same.
  double foreign_expert_rows = 0;
};

struct KernelStackSpec {
  std::string id;
  std::vector<GemmFamily> gemm;
  // Index into `gemm` by the format that the tensor units run; -1: none.
  std::array<int, kFormatCount> gemm_by_format;
  DecodeAttentionFamily attention_decode;
  PrefillAttentionFamily attention_prefill;
  ElementwiseFamily elementwise;
  // By link tier; empty: this stack cannot price collectives there.
  std::array<std::optional<CollectiveFamily>, kLinkTierCount> collectives;
  FineFamilies fine = {};
  // How all-reduces are done whose ops do not say.
  CollectiveAlgorithm all_reduce_algorithm = CollectiveAlgorithm::kAuto;
  HostCost host;
  Fusion fusion;
  // Empty: nothing is known of it. A model then has the whole device.
  std::optional<EngineMemory> memory = std::nullopt;
  // Empty: prices are of kernels alone. Else they are of ops as an engine runs
  // them while it serves: a target's, with what varies resolved.
  std::optional<EngineCosts> engine_costs = std::nullopt;
};

class KernelStack {
 public:
  // Rules: fractions in (0, 1], times >= 0, rates > 0, sigma in (0, 1],
  // ids valid and unique; tiles and splits as their formulas say.
  static std::optional<KernelStack> Create(KernelStackSpec spec,
                                           Violations& violations);
  const KernelStackSpec& spec() const { return spec_; }
  // Null where no family serves the format.
  const GemmFamily* GemmFor(Format compute) const;
  // Of all its families.
  Tier StrongestTier() const;

 private:
  explicit KernelStack(KernelStackSpec spec) : spec_(std::move(spec)) {}
  KernelStackSpec spec_;
};

}  // namespace mansard::model
