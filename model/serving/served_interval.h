// How sure times of served load are.
#pragma once

#include <optional>

#include "model/hardware/engine_costs.h"
#include "model/serving/predict_latency.h"
#include "model/serving/served_load.h"
#include "model/serving/serving_engine.h"

namespace mansard::model {

// Of a rate, or of a ratio of rates: p10 <= value <= p90.
struct RateInterval {
  double value = 0;
  double p10 = 0;
  double p90 = 0;
};

// Those that the answer has.
struct ServedIntervals {
  std::optional<TimeInterval> time_to_first_token;
  std::optional<TimeInterval> inter_token_latency;
  std::optional<TimeInterval> time_per_output_token;
  std::optional<TimeInterval> end_to_end;
  RateInterval requests_per_second;
  RateInterval output_tokens_per_second;
  RateInterval most_requests_per_second;
  RateInterval utilization;
};

// What of the target the fit of its stack's costs had seen. Runs name a model
// as its vendor does, a graph's id begins alike ("Llama-3.1-70B",
// "llama-3.1-70b-fp8").
FitSituation SituationOf(const Target& target, const EngineCosts& costs);

// p10 <= time <= p90. Where the stack has costs of an engine, by what their fit
// left of runs that it did not see, passes as times per output token. Else by
// the kernels of a pass that decodes and, for the first token, of one with the
// prompt alone; of what is around them nothing is known. Rates go as the time
// of a request, both ends of the interval swapped: what takes longer is served
// less often. With requests kept in flight all rates are off alike, so that the
// utilisation is not; a rate that is given has no interval, but the most and
// the utilisation have. A saturated engine serves its most.
ServedIntervals IntervalsOf(const ServingEngine& engine, const ServedLoad& load,
                            const ServedAnswer& answer, StepTimer& timer);

}  // namespace mansard::model
