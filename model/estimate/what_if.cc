#include "model/estimate/what_if.h"

#include <algorithm>

namespace mansard::model {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kTokensPriced = 1e6;

void SetFacts(const Target& target, const Estimate& estimate,
              const WhatIfChoices& choices, WhatIf& what_if) {
  const PhaseEstimate& phase = estimate.phase;
  what_if.time = phase.estimate;
  what_if.per_token = Seconds::Of(1 / phase.output_tokens_per_second);
  what_if.needed = estimate.memory.needed();
  what_if.available = estimate.memory.budget;
  what_if.fits = estimate.memory.fits;
  what_if.devices = target.layout().device_count();
  const auto price = choices.device_hour_prices.find(target.hardware().id());
  if (price != choices.device_hour_prices.end()) {
    what_if.cost = price->second * what_if.devices * kTokensPriced *
                   what_if.per_token.value() / kSecondsPerHour;
  }
}

WhatIf Evaluate(const Variant& variant, Seconds per_token_now,
                const WhatIfChoices& choices) {
  WhatIf what_if;
  what_if.kind = variant.kind;
  what_if.value = variant.value;
  what_if.reason = variant.reason;
  if (!what_if.reason.empty()) return what_if;
  Violations violations;
  const absl::StatusOr<Target> target =
      Target::Create(variant.spec, violations);
  if (!target.ok()) {
    what_if.reason =
        std::string(violations.empty() ? target.status().message()
                                       : violations.ToStatus().message());
    return what_if;
  }
  SetFacts(*target, EstimatePass(*target, variant.pass), choices, what_if);
  what_if.saved = per_token_now - what_if.per_token;
  return what_if;
}

}  // namespace

WhatIf Baseline(const Target& target, const Estimate& estimate,
                const WhatIfChoices& choices) {
  WhatIf baseline;
  baseline.kind = "as_is";
  SetFacts(target, estimate, choices, baseline);
  return baseline;
}

std::vector<WhatIf> WhatIfsOf(const Target& target, const ForwardPass& pass,
                              const Estimate& estimate,
                              const WhatIfChoices& choices) {
  const Seconds now = Baseline(target, estimate, choices).per_token;
  std::vector<WhatIf> all;
  for (const Variant& variant : VariantsOf(target, pass, choices)) {
    all.push_back(Evaluate(variant, now, choices));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const WhatIf& a, const WhatIf& b) {
                     if (a.reason.empty() != b.reason.empty()) {
                       return a.reason.empty();
                     }
                     return a.reason.empty() && a.saved > b.saved;
                   });
  return all;
}

}  // namespace mansard::model
