// The linear form that autoscalers take for an engine's latency.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/request_load.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

// a + b x
struct LinearTime {
  Seconds constant;
  Seconds slope;
  // The largest |fitted / time - 1|.
  double max_error_ratio = 0;
  // The root of its mean square, which the fit makes least.
  double rms_error_ratio = 0;
};

struct LatencyModelQuestion {
  RequestShape shape;
  DraftGain gain;
  int64_t max_batch = 0;  // 0: what engine and cache allow.
};

struct LatencyModel {
  // Inter-token latency: alpha + beta x batch, at the shape's mean context.
  std::optional<LinearTime> decode;
  // Of as many prompts, all at once and with nothing beside them: gamma +
  // delta x (computed input tokens x batch).
  std::optional<LinearTime> prefill;
  int64_t max_batch = 0;  // 1 to it were fitted.
};

// Both coefficients are 0 or more, and the sum of squares of the relative
// errors is the least of such. Batches 1 to the largest count alike; of more
// than kMostFittedBatches as many, evenly spaced. A decode engine has no
// prefill and the other way round. Rules: those of shape and gain; the batch is
// 0 or more and within the engine's limit, which the message names; there is
// room for one request. Violations are at "max_batch_request_count".
// CheckLatencyModelQuestion leaves out the room, and without an engine (null)
// what depends on it.
void CheckLatencyModelQuestion(const ServingEngine* engine,
                               const LatencyModelQuestion& question,
                               Violations& violations);
inline constexpr int64_t kMostFittedBatches = 1024;
std::optional<LatencyModel> FitLatencyModel(
    const ServingEngine& engine, const LatencyModelQuestion& question,
    StepTimer& timer, Violations& violations);

}  // namespace mansard::model
