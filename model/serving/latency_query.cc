#include "model/serving/latency_query.h"

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

constexpr double kMostCount = 1e9;

void CheckState(const EndpointState& state, Violations& violations) {
  const Violations::Scope scope(violations, "state");
  const auto count = [&](absl::string_view field, int64_t value) {
    violations.CheckRange(field, static_cast<double>(value), 0, kMostCount);
  };
  count("running_request_count", state.running_requests);
  count("waiting_request_count", state.waiting_requests);
  count("prefill_tokens_in_flight_count", state.prefill_tokens_in_flight);
  count("decode_tokens_in_flight_count", state.decode_tokens_in_flight);
  if (!(state.kv_usage_ratio >= 0 && state.kv_usage_ratio <= 1)) {
    violations.Add(
        "kv_cache_usage_ratio",
        absl::StrCat("is ", state.kv_usage_ratio, "; allowed: 0 to 1"));
  }
}

void CheckTargets(const ServingEngine* engine, const LatencyQuery& query,
                  Violations& violations) {
  const Violations::Scope scope(violations, "slo");
  CheckSlo(query.slo, violations);
  if (query.slo.end_to_end.has_value() && !query.output_tokens.has_value()) {
    violations.Add(SloTargetField(SloTarget::kEndToEnd),
                   "is given without the output tokens, which it needs");
  }
  if (query.slo.time_to_first_token.has_value() && engine != nullptr &&
      engine->role() == ServingRole::kDecode) {
    violations.Add(SloTargetField(SloTarget::kTimeToFirstToken),
                   "is given, but the engine decodes only: it has no first "
                   "tokens");
  }
}

}  // namespace

void CheckQuery(const ServingEngine* engine, const LatencyQuery& query,
                Violations& violations) {
  CheckState(query.state, violations);
  violations.CheckRange("input_token_count",
                        static_cast<double>(query.input_tokens), 1,
                        static_cast<double>(RequestShape::kMaxTokens));
  violations.CheckRange("generated_token_count",
                        static_cast<double>(query.generated_tokens), 0,
                        static_cast<double>(RequestShape::kMaxTokens));
  if (!(query.prefix_hit_ratio >= 0 && query.prefix_hit_ratio <= 1)) {
    violations.Add(
        "prefix_cache_hit_ratio",
        absl::StrCat("is ", query.prefix_hit_ratio, "; allowed: 0 to 1"));
  }
  if (query.output_tokens.has_value() &&
      !(*query.output_tokens >= 1 &&
        *query.output_tokens <= RequestShape::kMaxTokens)) {
    violations.Add("output_token_count",
                   absl::StrCat("is ", *query.output_tokens, "; allowed: 1 to ",
                                RequestShape::kMaxTokens));
  }
  CheckGain(query.gain, violations);
  CheckTargets(engine, query, violations);
}

}  // namespace mansard::model
