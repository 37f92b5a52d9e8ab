// What would make a pass fit that does not.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/units.h"
#include "model/estimate/estimate.h"

namespace mansard::model {

enum class RemedyKind {
  kTensorSize,    // The smallest legal one above the target's, in one node.
  kPipelineSize,  // The smallest above the target's, at most 16.
  kDataSize,      // Likewise.
  kWeights,       // The widest narrower format that device and stack can run.
  kKvCache,       // Likewise.
  kContext,       // The longest of all of the pass's requests.
  kRequestCount,  // The most; for passes of one group.
};
// "tensor_size", "pipeline_size", "data_size", "weights", "kv_cache",
// "context_token_count", "request_count".
absl::string_view RemedyKindName(RemedyKind kind);

// One change that suffices alone, all else as it is.
struct Remedy {
  RemedyKind kind = RemedyKind::kTensorSize;
  int64_t number = 0;             // Of the kinds that count.
  Format format = Format::kBf16;  // kWeights, kKvCache.
  Bytes needed;                   // Per rank, after the change.
};

// One at most of each kind, in the enum's order; empty where the pass fits, and
// where nothing alone makes it fit. Estimates nothing: a few lowerings.
std::vector<Remedy> RemediesFor(const Target& target, const ForwardPass& pass,
                                const MemoryFootprint& memory);

}  // namespace mansard::model
