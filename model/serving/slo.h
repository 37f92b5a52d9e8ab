// What a request of a served model is like, and what its user wants to hold.
// Definitions, once for all of serving:
//   time to first token    from a request's arrival to its first token,
//                          queueing included
//   inter-token latency    one pass of the engine that decodes
//   time per output token  (end to end - time to first token) /
//                          (output tokens - 1)
//   end to end             from arrival to the last token
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/base/violations.h"

namespace mansard::model {

enum class SloTarget {
  kTimeToFirstToken,
  kInterTokenLatency,
  kTimePerOutputToken,
  kEndToEnd,
};
inline constexpr int kSloTargetCount = 4;
// As the field of a request is called: "time_to_first_token_seconds".
absl::string_view SloTargetField(SloTarget target);

// One value a target; empty: there is none.
struct SloValues {
  std::optional<Seconds> time_to_first_token;
  std::optional<Seconds> inter_token_latency;
  std::optional<Seconds> time_per_output_token;
  std::optional<Seconds> end_to_end;

  const std::optional<Seconds>& operator[](SloTarget target) const;
};

// Targets. One that the values have no time for is not met.
struct Slo : SloValues {
  bool empty() const;
};

// How much earlier than its target a time is; negative: later.
struct SloMargin {
  SloTarget target = SloTarget::kTimeToFirstToken;
  Seconds headroom;
};
// Of the target whose time uses the largest part of it. Empty where there is no
// target with a time.
std::optional<SloMargin> TightestMargin(const Slo& slo,
                                        const SloValues& values);
bool Meets(const Slo& slo, const SloValues& values);

// Rule: targets are positive and finite. Violations are at the fields'
// names.
void CheckSlo(const Slo& slo, Violations& violations);

struct RequestShape {
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  // Share of the input that the prefix cache has.
  double prefix_hit_ratio = 0;

  static constexpr int64_t kMaxTokens = 10'000'000;

  // Found in the cache: at least one token is computed.
  int64_t cached_tokens() const;
  int64_t computed_tokens() const { return input_tokens - cached_tokens(); }
  // Of a request half way through its output.
  double mean_context() const {
    return static_cast<double>(input_tokens) +
           static_cast<double>(output_tokens) / 2;
  }
};

// Rules: 1 to kMaxTokens each, the ratio in 0 to 1. Violations are at
// "input_token_count", "output_token_count" and "prefix_cache_hit_ratio".
void CheckShape(const RequestShape& shape, Violations& violations);

}  // namespace mansard::model
