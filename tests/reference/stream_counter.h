// The slow counter's residual streams.
#pragma once

#include <cstdint>
#include <string>

#include "tests/reference/tally.h"

namespace mansard::testing {

// `streams` rows of `hidden` elements a token; their weights are fp32.
struct StreamCounter {
  int64_t tokens;
  int64_t hidden;
  int streams;
  Tally& tally;

  // The embedding, as every stream.
  void Start(const std::string& part);
  // A token's weights out of all its streams, and one stream made by them.
  // `mixes`: weights out and between the streams as well, for Merge.
  void Collapse(const std::string& weights_part, const std::string& mix_part,
                bool mixes);
  // All streams and one output to all streams.
  void Merge(const std::string& part);
};

}  // namespace mansard::testing
