// Parts of ops that a fine family serves (FineFamilies). Internal to
// model/price: parts.cc calls them where the stack has such a family.
#pragma once

#include "model/price/op_parts.h"

namespace mansard::model {

// "split-kv". Scores that are written to memory are traffic beside the cache.
// Precondition: a decode.
Parts SplitDecodeParts(const Op& op, const AttentionShape& shape,
                       const SplitDecodeFamily& family,
                       const ResolvedHardware& hardware);
// The same on latent vectors. Precondition: a decode; absorbed.
Parts LatentDecodeParts(const Op& op, const LatentAttentionShape& shape,
                        const SplitDecodeFamily& family,
                        const ResolvedHardware& hardware);

// "tiled-prefill". Precondition: fused. A decode, in a pass with prompts, is
// part of their kernel's call and launches none.
Parts TiledPrefillParts(const Op& op, const AttentionShape& shape,
                        const TiledPrefillFamily& family,
                        const ResolvedHardware& hardware);
// The same on expanded keys and values. Precondition: a fused prefill; not
// absorbed.
Parts LatentPrefillParts(const Op& op, const LatentAttentionShape& shape,
                         const TiledPrefillFamily& family,
                         const ResolvedHardware& hardware);

// Collectives: "protocol-lines" and "direct-all-reduce", whichever is fastest
// or as the shape says. The general families stand in for those that the fine
// table lacks. In collective_parts.cc.
Parts CollectiveParts(const Op& op, const ResolvedHardware& hardware);

// "expert-exchange"; without one, an all-to-all of the same bytes. In
// exchange_parts.cc.
Parts ExchangeParts(const Op& op, const ResolvedHardware& hardware);

// "expert-gemm".
Parts ExpertGemmParts(const Op& op, const GroupedGemmShape& shape,
                      const ExpertGemmFamily& family,
                      const ResolvedHardware& hardware);

}  // namespace mansard::model
