// How sure times of served load are.
#pragma once

#include <optional>

#include "model/hardware/engine_costs.h"
#include "model/serving/predict_latency.h"
#include "model/serving/served_load.h"
#include "model/serving/serving_engine.h"

namespace mansard::model {

// Those that the answer has.
struct ServedIntervals {
  std::optional<TimeInterval> time_to_first_token;
  std::optional<TimeInterval> inter_token_latency;
  std::optional<TimeInterval> time_per_output_token;
  std::optional<TimeInterval> end_to_end;
};

// What of the target the fit of its stack's costs had seen. Runs name a model
// as its vendor does, a graph's id begins alike ("Llama-3.1-70B",
// "llama-3.1-70b-fp8").
FitSituation SituationOf(const Target& target, const EngineCosts& costs);

// p10 <= time <= p90. Where the stack has costs of an engine, by what their fit
// left of runs that it did not see, passes as times per output token. Else by
// the kernels of a pass that decodes and, for the first token, of one with the
// prompt alone; of what is around them nothing is known.
ServedIntervals IntervalsOf(const ServingEngine& engine, const ServedLoad& load,
                            const ServedAnswer& answer, StepTimer& timer);

}  // namespace mansard::model
