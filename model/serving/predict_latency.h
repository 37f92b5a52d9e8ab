// What a request would see of an endpoint as it is now: what a gateway asks of
// each candidate.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/latency_query.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

struct TimeInterval {
  Seconds time;
  Seconds p10;
  Seconds p90;
};

struct LatencyAnswer {
  // Empty: see LatencyQuery; and of an engine of the other role.
  std::optional<TimeInterval> time_to_first_token;
  std::optional<TimeInterval> inter_token_latency;
  std::optional<TimeInterval> time_per_output_token;
  std::optional<TimeInterval> end_to_end;
  std::optional<SloMargin> headroom;  // Empty without targets.
  bool meets_slo = true;              // By the times, not by their intervals.
  // The engine has no place or no cache for the request now. Where the
  // output is not known, the time to first token leaves that wait out.
  bool waits_for_room = false;
  Bound bound = Bound::kMemory;  // Of a pass that decodes.
  bool extrapolated = false;

  SloValues values() const;
};

// The prompt follows those in flight, in passes as full as the token budget
// allows; times are ServedForm's with those passes for P. It then decodes with
// all that run and wait. Cached lengths of others' prompts are not known: they
// are taken as new.
//
// Violations are those of CheckQuery. Some two microseconds, and nothing
// allocated, where the engine has curves for the passes.
std::optional<LatencyAnswer> PredictLatency(const ServingEngine& engine,
                                            const LatencyQuery& query,
                                            StepTimer& timer,
                                            Violations& violations);

}  // namespace mansard::model
