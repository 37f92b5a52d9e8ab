// How well software uses a device: parameters of the pricing formulas by
// kernel family, and what the host adds. The formulas are in model/price.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/engine_memory.h"
#include "model/hardware/fabric.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

// How far a number can be trusted; smaller is weaker.
enum class Tier { kSpec, kTransferred, kCalibrated };
absl::string_view TierName(Tier tier);

// What every family says of itself.
struct FamilyFacts {
  std::string id;
  Tier tier = Tier::kSpec;
  double sigma = 0;  // Standard deviation of ln(measured / predicted).
  Provenance provenance;
  // By parameter name, where it differs from the family's.
  std::map<std::string, Provenance> parameter_provenance = {};
};

// "roofline-gemm".
struct GemmFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds wave;          // Prologue and epilogue, once a kernel.
  double peak_fraction;  // Of the tensor rate.
  double hbm_fraction;
  BytesPerSecond l2_feed;  // Effective: may exceed the L2's physical rate.
  double tile_rows;        // What one weight tile serves.
  double tile_columns;
};

// "roofline-attention-decode".
struct DecodeAttentionFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds combine;  // Split-KV reduction.
  double peak_fraction;
  double hbm_fraction;
  BytesPerSecond l2_feed;
};

// "roofline-attention-prefill".
struct PrefillAttentionFamily {
  FamilyFacts facts;
  Seconds launch;
  // {head size, fraction of the tensor rate on causal work}, by head size.
  std::vector<std::pair<int, double>> peak_fractions;
  double hbm_fraction;

  // Of the smallest listed head size that is not below `head_size`; beyond the
  // last, the last.
  double PeakFraction(int head_size) const;
};

// "roofline-elementwise": norms, RoPE, activation, residual, embedding,
// quantise, sampling.
struct ElementwiseFamily {
  FamilyFacts facts;
  Seconds launch;
  double hbm_fraction;
  BytesPerSecond l2_feed;
};

// "protocol-lines": the fastest of a few protocols. The bus bandwidth is per
// rank, as in nccl-tests.
struct CollectiveFamily {
  enum class Protocol { kLl, kLl128, kSimple };
  struct Line {
    Seconds alpha;
    Seconds step;
    BytesPerSecond bus;
    Protocol protocol = Protocol::kSimple;
  };
  FamilyFacts facts;
  std::vector<Line> lines;
};

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
  HostCost host;
  Fusion fusion;
  // Empty: nothing is known of it. A model then has the whole device.
  std::optional<EngineMemory> memory = std::nullopt;
};

class KernelStack {
 public:
  // Rules: fractions in (0, 1], times >= 0, rates > 0, sigma in (0, 1],
  // ids valid and unique.
  static std::optional<KernelStack> Create(KernelStackSpec spec,
                                           Violations& violations);
  const KernelStackSpec& spec() const { return spec_; }
  // Null where no family serves the format.
  const GemmFamily* GemmFor(Format compute) const;

 private:
  explicit KernelStack(KernelStackSpec spec) : spec_(std::move(spec)) {}
  KernelStackSpec spec_;
};

}  // namespace mansard::model
