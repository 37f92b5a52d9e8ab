// The ceilings of a roofline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/estimate/estimate.h"

namespace mansard::model {

// Whose bytes the intensities count.
enum class RooflineLevel { kHbm, kL2 };

struct RooflineCeiling {
  std::string label;  // "tensor bf16", "hbm".
  // One of the two.
  std::optional<FlopsPerSecond> rate;
  std::optional<BytesPerSecond> bandwidth;
  bool calibrated = false;
  // Rates only: where they meet the bandwidth of the level; zero where that is
  // not known.
  FlopsPerByte ridge;
};

// Of the formats that the ops compute in, vector units and memories: what the
// datasheet says, and what the stack reaches. Ridges are of the level.
std::vector<RooflineCeiling> CeilingsOf(const Target& target, const OpList& ops,
                                        RooflineLevel level);

}  // namespace mansard::model
