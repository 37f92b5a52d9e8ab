// What one change to a target or a pass would do, estimated for real.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/estimate/estimate.h"

namespace mansard::model {

// What there is to choose from, and what it costs.
struct WhatIfChoices {
  // To try in the target's place.
  std::vector<std::shared_ptr<const HardwareProfile>> devices;
  // Among which a faster network is sought. They outlive the answer.
  std::vector<const Fabric*> fabrics;
  // In any currency, of one device for an hour, by profile id. Nothing is
  // assumed of those that are not here.
  std::map<std::string, double> device_hour_prices;
};

// A change as a request of its own, or why there is none.
struct Variant {
  std::string kind;   // "weights", "batch", "tensor_size", ...
  std::string value;  // "fp8-e4m3", "128", ...
  TargetSpec spec;
  ForwardPass pass;
  std::string reason;  // Of a change that cannot be; else empty.
};

struct WhatIf {
  std::string kind;
  std::string value;
  std::string reason;  // Not empty: nothing below is known.
  Seconds time;        // Of the step.
  Seconds per_token;   // Of an output token of the step.
  Seconds saved;       // Of that, against the pass as it is.
  Bytes needed;        // Per rank.
  Bytes available;
  bool fits = false;
  int devices = 0;
  // Per million output tokens, where the device has a price.
  std::optional<double> cost;
};

// All changes that are tried, in order: formats of weights and cache, twice the
// requests, twice and half the tensor ranks, experts whole on their ranks,
// fusion of residual and norm, no FlashAttention, no CUDA graphs, both kinds of
// overlap, prefixes of prompts and caches of decodes computed anew, one tile
// for all products (the best ones, a smaller and a larger one), the next faster
// network, other devices.
std::vector<Variant> VariantsOf(const Target& target, const ForwardPass& pass,
                                const WhatIfChoices& choices);

// The target as it is.
WhatIf Baseline(const Target& target, const Estimate& estimate,
                const WhatIfChoices& choices);

// Those that save most time per token first; those that cannot be last.
std::vector<WhatIf> WhatIfsOf(const Target& target, const ForwardPass& pass,
                              const Estimate& estimate,
                              const WhatIfChoices& choices);

// The next generation's device: of the same vendor and another architecture, no
// worse in 16-bit tensor rate, memory and its bandwidth, and faster than it in
// the latter; of those the one with the least bandwidth, then tensor rate. Null
// where `profiles` have none.
std::shared_ptr<const HardwareProfile> NextDevice(
    const HardwareProfile& hardware,
    const std::vector<std::shared_ptr<const HardwareProfile>>& profiles);

}  // namespace mansard::model
