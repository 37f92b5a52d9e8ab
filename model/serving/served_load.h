// What requests see of an engine that serves so many of them: times, rates and
// what they are made of, in closed form.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/request_load.h"
#include "model/serving/served_form.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

// One of the two: requests that are kept in flight, or that arrive.
struct ServedLoad {
  RequestShape shape;
  DraftGain gain;
  std::optional<double> concurrency = std::nullopt;
  std::optional<double> requests_per_second = std::nullopt;
  // That each of the requests in flight is followed by, itself included, after
  // all have begun at once. Empty: a steady state. With concurrency only.
  std::optional<double> requests_per_slot = std::nullopt;

  static constexpr double kMaxConcurrency = 1e7;
};

enum class ServedLimit {
  kLoad,       // All requests in flight run at once.
  kSequences,  // The engine's limit of sequences does not let them.
  kKvCapacity,
};

struct ServedAnswer {
  // That run at once; below 1 where mostly none does.
  double batch = 0;
  // In flight, those that wait included.
  double concurrency = 0;
  ServedLimit limit = ServedLimit::kLoad;
  int64_t most_sequences = 0;  // What the limits allow.
  // Requests arrive faster than they are served, or there is no room for one:
  // no time below holds, and there are none but the passes'.
  bool saturated = false;

  ServedPassTimes passes;
  int64_t prompt_passes = 0;
  FirstTokenParts first_token;
  SloValues values;
  double prompt_utilization = 0;

  double requests_per_second = 0;
  double output_tokens_per_second = 0;
  // Of the rate at the largest batch.
  double utilization = 0;
  double most_requests_per_second = 0;
};

// The rules below; of an engine that is not there (null) those that need none.
void CheckServedLoad(const ServingEngine* engine, const ServedLoad& load,
                     Violations& violations);

// Rules: those of shape and gain; one of concurrency and rate, positive and at
// most kMaxConcurrency; requests a slot 1 or more. Violations are at
// "shape...", "concurrency_count", "requests_per_second" and
// "requests_per_slot_count". A rate is served at the concurrency C where C =
// rate x time of a request (Little), the first that is found by halving; where
// even the largest batch serves fewer, the answer is saturated.
std::optional<ServedAnswer> EstimateServedLoad(const ServingEngine& engine,
                                               const ServedLoad& load,
                                               StepTimer& timer,
                                               Violations& violations);

}  // namespace mansard::model
