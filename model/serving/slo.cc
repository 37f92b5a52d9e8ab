#include "model/serving/slo.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

constexpr std::array<SloTarget, kSloTargetCount> kTargets = {
    SloTarget::kTimeToFirstToken, SloTarget::kInterTokenLatency,
    SloTarget::kTimePerOutputToken, SloTarget::kEndToEnd};

}  // namespace

absl::string_view SloTargetField(SloTarget target) {
  switch (target) {
    case SloTarget::kTimeToFirstToken:
      return "time_to_first_token_seconds";
    case SloTarget::kInterTokenLatency:
      return "inter_token_latency_seconds";
    case SloTarget::kTimePerOutputToken:
      return "time_per_output_token_seconds";
    case SloTarget::kEndToEnd:
      return "end_to_end_latency_seconds";
  }
  return "";
}

const std::optional<Seconds>& SloValues::operator[](SloTarget target) const {
  switch (target) {
    case SloTarget::kTimeToFirstToken:
      return time_to_first_token;
    case SloTarget::kInterTokenLatency:
      return inter_token_latency;
    case SloTarget::kTimePerOutputToken:
      return time_per_output_token;
    case SloTarget::kEndToEnd:
      return end_to_end;
  }
  return end_to_end;
}

bool Slo::empty() const {
  return std::none_of(kTargets.begin(), kTargets.end(), [&](SloTarget target) {
    return (*this)[target].has_value();
  });
}

std::optional<SloMargin> TightestMargin(const Slo& slo,
                                        const SloValues& values) {
  std::optional<SloMargin> tightest;
  double most_used = 0;
  for (const SloTarget target : kTargets) {
    if (!slo[target].has_value() || !values[target].has_value()) continue;
    const double used = *values[target] / *slo[target];
    if (tightest.has_value() && used <= most_used) continue;
    most_used = used;
    tightest = SloMargin{target, *slo[target] - *values[target]};
  }
  return tightest;
}

bool Meets(const Slo& slo, const SloValues& values) {
  return std::all_of(kTargets.begin(), kTargets.end(), [&](SloTarget target) {
    if (!slo[target].has_value()) return true;
    return values[target].has_value() && *values[target] <= *slo[target];
  });
}

void CheckSlo(const Slo& slo, Violations& violations) {
  for (const SloTarget target : kTargets) {
    if (!slo[target].has_value()) continue;
    const double seconds = slo[target]->value();
    if (seconds > 0 && std::isfinite(seconds)) continue;
    violations.Add(
        SloTargetField(target),
        absl::StrCat("is ", seconds, "; must be more than 0, and finite"));
  }
}

int64_t RequestShape::cached_tokens() const {
  const auto found = static_cast<int64_t>(
      std::floor(static_cast<double>(input_tokens) * prefix_hit_ratio));
  return std::clamp<int64_t>(found, 0, std::max<int64_t>(0, input_tokens - 1));
}

void CheckShape(const RequestShape& shape, Violations& violations) {
  const auto most = static_cast<double>(RequestShape::kMaxTokens);
  violations.CheckRange("input_token_count",
                        static_cast<double>(shape.input_tokens), 1, most);
  violations.CheckRange("output_token_count",
                        static_cast<double>(shape.output_tokens), 1, most);
  const double ratio = shape.prefix_hit_ratio;
  if (!(ratio >= 0 && ratio <= 1)) {
    violations.Add("prefix_cache_hit_ratio",
                   absl::StrCat("is ", ratio, "; allowed: 0 to 1"));
  }
}

}  // namespace mansard::model
