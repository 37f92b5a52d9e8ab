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
#include "model/hardware/engine_memory.h"
#include "model/hardware/fabric.h"
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

// Families for the cases of something served; a key is the case's number.
template <class ServingFamily, size_t kKeys>
class Serving {
 public:
  using Family = ServingFamily;
  static constexpr size_t kCases = kKeys;

  Serving() { index_.fill(-1); }
  // Null where none serves the case.
  const Family* For(size_t key) const {
    const int index = index_[key];
    return index < 0 ? nullptr : &families_[static_cast<size_t>(index)];
  }
  // The case's family from now on, shared with cases whose family has the same
  // id.
  void Bind(size_t key, const Family& family) {
    for (size_t i = 0; i < families_.size(); ++i) {
      if (families_[i].facts.id != family.facts.id) continue;
      index_[key] = static_cast<int>(i);
      families_[i] = family;
      return;
    }
    index_[key] = static_cast<int>(families_.size());
    families_.push_back(family);
  }
  // In the order in which they were bound.
  const std::vector<Family>& families() const { return families_; }

 private:
  std::vector<Family> families_;
  std::array<int, kKeys> index_;
};
template <class Family>
using ByFormat = Serving<Family, kFormatCount>;
template <class Family>
using ByTier = Serving<Family, kLinkTierCount>;

// Element-wise kernels that may have a family of their own.
enum class ElementwiseUse {
  kNorm,
  kActivation,
  kRope,
  kResidual,
  kEmbedding,
  kSampling,
  kRouting,
  // Inside a layer of experts: activation, quantisation and weighted sum.
  kExperts,
};
inline constexpr int kElementwiseUseCount = 8;
// "norm".
absl::string_view ElementwiseUseName(ElementwiseUse use);

// Families that take the place of the general ones for what they serve.
struct FineFamilies {
  // By the format of the cache.
  ByFormat<SplitDecodeFamily> split_decode;
  ByFormat<SplitDecodeFamily> latent_decode;
  ByFormat<TiledPrefillFamily> tiled_prefill;
  ByFormat<TiledPrefillFamily> latent_prefill;
  // By the format of the weights.
  ByFormat<ExpertGemmFamily> experts;
  // By the format that is made.
  ByFormat<ElementwiseFamily> quantize;
  Serving<ElementwiseFamily, kElementwiseUseCount> elementwise;
  // By the outermost tier that the ranks span.
  ByTier<DirectAllReduceFamily> direct_all_reduce;
  ByTier<CollectiveFamily> all_reduce;
  ByTier<CollectiveFamily> all_gather;
  ByTier<CollectiveFamily> reduce_scatter;
  ByTier<CollectiveFamily> all_to_all;
  ByTier<CollectiveFamily> send_receive;
  ByTier<ExpertExchangeFamily> expert_dispatch;
  ByTier<ExpertExchangeFamily> expert_combine;
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
  FineFamilies fine = {};
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
