// What is asked of PredictLatency.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/request_load.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

// What an engine reports of itself; of all its data ranks together.
struct EndpointState {
  int64_t running_requests = 0;  // That decode.
  int64_t waiting_requests = 0;  // Whose prompts are not computed yet.
  double kv_usage_ratio = 0;     // Of the cache.
  // Of those prompts, what is still to be computed.
  int64_t prefill_tokens_in_flight = 0;
  // Cached tokens of those that decode. 0: as the cache's usage says.
  int64_t decode_tokens_in_flight = 0;
};

struct LatencyQuery {
  EndpointState state;
  int64_t input_tokens = 0;
  double prefix_hit_ratio = 0;
  // Of the request; above 0 it is one of those that run, and there is no first
  // token to wait for.
  int64_t generated_tokens = 0;
  DraftGain gain;
  // That the request makes, and others like it: its time per output token is of
  // its mean context. Empty: not known; then it is of its first tokens, neither
  // the prompts that come while it decodes count nor the wait for a place, and
  // there is no time end to end.
  std::optional<double> output_tokens = std::nullopt;
  Slo slo;
};

// Rules: counts 0 or more, input 1 to RequestShape::kMaxTokens, ratios 0 to 1,
// output 1 or more, those of gain and targets; a time end to end is asked for
// with output tokens only, one to the first token not of a decode engine.
// Violations are at the fields of the query, those of targets below "slo".
// Without an engine (null) what depends on it is not checked.
void CheckQuery(const ServingEngine* engine, const LatencyQuery& query,
                Violations& violations);

}  // namespace mansard::model
