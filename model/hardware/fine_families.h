// Kernel families that serve one thing better than the general ones do.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

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
};
inline constexpr int kElementwiseUseCount = 7;
// "norm".
absl::string_view ElementwiseUseName(ElementwiseUse use);

// Families that take the place of the general ones for what they serve.
struct FineFamilies {
  // By the format of the cache.
  ByFormat<SplitDecodeFamily> split_decode;
  ByFormat<SplitDecodeFamily> latent_decode;
  ByFormat<TiledPrefillFamily> tiled_prefill;
  ByFormat<TiledPrefillFamily> latent_prefill;
  // In place of tiled_prefill, where arithmetic is in 8 bits or fewer: kernels
  // of their own, which twice the tensor rate does not make twice as fast.
  ByFormat<TiledPrefillFamily> narrow_prefill;
  // By the format of the weights. Plain GEMMs: of one matrix, whose input has
  // the weights' format too (but int4, which has none).
  ByFormat<TiledGemmFamily> plain_gemm;
  ByFormat<ExpertGemmFamily> experts;
  // In place of experts, where kernels widen the weights to 16-bit inputs on
  // the way; int4's, which no other kernels take, stand in experts.
  ByFormat<ExpertGemmFamily> widened_experts;
  // By the format of the experts' weights, inside their layer: activation,
  // quantisation and weighted sum.
  ByFormat<ElementwiseFamily> expert_elementwise;
  // By the format that is made.
  ByFormat<ElementwiseFamily> quantize;
  Serving<ElementwiseFamily, kElementwiseUseCount> elementwise;
  // By the outermost tier that the ranks span.
  ByTier<DirectAllReduceFamily> direct_all_reduce;
  ByTier<CollectiveFamily> all_reduce;
  ByTier<CollectiveFamily> all_gather;
  ByTier<CollectiveFamily> reduce_scatter;
  ByTier<CollectiveFamily> all_to_all;
  ByTier<CollectiveFamily> broadcast;
  ByTier<CollectiveFamily> send_receive;
  ByTier<ExpertExchangeFamily> expert_dispatch;
  ByTier<ExpertExchangeFamily> expert_combine;
  // The same for few tokens.
  ByTier<ExpertExchangeFamily> expert_dispatch_low_latency;
  ByTier<ExpertExchangeFamily> expert_combine_low_latency;
};

}  // namespace mansard::model
