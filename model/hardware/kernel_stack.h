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

// An output tile of a GEMM kernel.
struct GemmTile {
  int rows = 0;
  int columns = 0;
};

// "tiled-gemm": see model/kernels/tiled_gemm.h.
struct TiledGemmFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds wave;           // Prologue and epilogue, once a wave.
  Seconds split_cost;     // Once where k is split.
  Seconds block_latency;  // A block of k where nothing overlaps.
  double peak_fraction;   // Of the tensor rate, before power droops.
  double droop;           // More compute time, at most, for long kernels.
  Seconds droop_time;     // Where half of that is reached.
  double hbm_fraction;
  BytesPerSecond l2_feed;       // Effective: may exceed the L2's physical rate.
  BytesPerSecond sm_hbm_feed;   // Of one multiprocessor.
  BytesPerSecond sm_smem_feed;  // Of one multiprocessor.
  double k_block_bytes;         // Of a row of the input, at a time.
  std::vector<GemmTile> tiles;
  std::vector<int> splits;  // Of k; ascending from 1.
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

constexpr std::array<int, kFormatCount> NoFamilies() {
  std::array<int, kFormatCount> none{};
  for (int& index : none) index = -1;
  return none;
}

struct KernelStackSpec {
  std::string id;
  std::vector<GemmFamily> gemm;
  // Index into `gemm` by the format that the tensor units run; -1: none.
  std::array<int, kFormatCount> gemm_by_format;
  // Serve plain GEMMs whose weights have the format too in place of `gemm`,
  // which keeps weight-only and grouped GEMMs and recurrences. Indices as
  // above.
  std::vector<TiledGemmFamily> tiled_gemm = {};
  std::array<int, kFormatCount> tiled_gemm_by_format = NoFamilies();
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
  // ids valid and unique; tiles and splits as "tiled-gemm" says; a format with
  // a tiled family has one in `gemm` too.
  static std::optional<KernelStack> Create(KernelStackSpec spec,
                                           Violations& violations);
  const KernelStackSpec& spec() const { return spec_; }
  // Null where no family serves the format.
  const GemmFamily* GemmFor(Format compute) const;
  // Null where `GemmFor` serves all GEMMs of the format.
  const TiledGemmFamily* TiledGemmFor(Format compute) const;

 private:
  explicit KernelStack(KernelStackSpec spec) : spec_(std::move(spec)) {}
  KernelStackSpec spec_;
};

}  // namespace mansard::model
