// How ranks do a collective, or exchange experts' tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::model {

// In an op's shape only a wish: where neither the stack nor the ranks have it,
// the op is priced as by kAuto, and marked as extrapolated.
enum class CollectiveAlgorithm : uint8_t {
  kAuto,     // What the library takes: its own kernels, else the fastest.
  kOneShot,  // All-reduce inside a node: every rank reads all buffers,
  kTwoShot,  // or its part of them, and then the other parts.
  kRing,
  kTree,      // All-reduce and broadcast; across nodes where there are several.
  kInSwitch,  // All-reduce and broadcast; the switch adds, or multiplies.
  kHierarchical,  // Inside the nodes and, of the parts, between them.
  kDirect,        // To one peer after the other: all-to-all, send and receive,
                  // and tokens of experts as an all-to-all.
  kLowLatency,    // Tokens of experts: a kernel for few,
  kThroughput,    // or for many.
};
inline constexpr int kCollectiveAlgorithmCount = 10;

// "one-shot"; of kAuto "".
absl::string_view AlgorithmName(CollectiveAlgorithm algorithm);
std::optional<CollectiveAlgorithm> ParseAlgorithm(absl::string_view name);
// All but kAuto, separated by commas.
std::string AlgorithmNames();

}  // namespace mansard::model
