// Linear layers by what a quantisation scheme tells apart. Weights of one class
// in one layer share their formats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::model {

enum class LinearClass : uint8_t {
  kAttentionInput,   // Queries, keys, values, latents, indexer, compressor.
  kAttentionOutput,  // Back to the hidden size, low-rank parts included.
  kRecurrent,        // Into and out of a recurrent mixer.
  kFeedForward,      // Dense.
  kExperts,          // Routed.
  kSharedExperts,
  kLatentExperts,  // Into and out of the width that experts work on.
  kRouter,
  kHead,
  kEmbedding,
};
inline constexpr size_t kLinearClassCount = 10;

// In the enum's order.
std::array<LinearClass, kLinearClassCount> AllLinearClasses();

// "attention_input", "experts": stable words, as the API has them.
absl::string_view LinearClassName(LinearClass linear);
// Empty where unknown.
std::optional<LinearClass> ParseLinearClass(absl::string_view name);
// "attention_input, attention_output, ...", for messages.
std::string LinearClassNames();

// Follows a graph's native precision; the others stay wide unless they are
// named: router, head and embedding.
constexpr bool FollowsNativePrecision(LinearClass linear) {
  return linear != LinearClass::kRouter && linear != LinearClass::kHead &&
         linear != LinearClass::kEmbedding;
}

// Stands in layers: all but head and embedding.
constexpr bool IsInLayers(LinearClass linear) {
  return linear != LinearClass::kHead && linear != LinearClass::kEmbedding;
}

}  // namespace mansard::model
