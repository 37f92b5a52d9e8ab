// Runs that are not aggregated at a fixed concurrency: static batches, and
// pools that compute prompts and pools that decode.
#pragma once

#include <optional>
#include <string>

#include "calibrate/serving/serving_target.h"
#include "calibrate/tables/serving_rows.h"
#include "model/io/shipped.h"
#include "model/ops/op.h"

namespace mansard::calibrate {

// What the software of a static batch's day adds (Mansard design, end to end
// §2, which has it from these rows): to a decode pass for each sequence, and
// the least time of each layer of a pass where no graph is captured.
struct StaticCosts {
  double kernels = 1;  // Of the time of kernels.
  model::Seconds sequence;
  model::Seconds layer;
};
// By engine, and by source where it tells the year.
StaticCosts StaticCostsOf(const ServingRow& row);

// Milliseconds. Of a static batch ttft is the prompts of all of it.
struct OtherPrediction {
  double ttft_ms = 0;
  double tpot_ms = 0;
  double latency_ms = 0;  // Of the whole batch, or of one request.
};

class OtherRuns {
 public:
  // The data outlive it.
  explicit OtherRuns(const model::ShippedData& data)
      : kernels_(data, {.fitted = false}), served_(data, {}) {}

  // All requests begin together, no others come:
  //   latency = waves (Ps + (o - 1) Ds),  waves = b / min(b, what fits)
  //   Ds = max(kernels decode pass, layers layer) + b sequence
  //   Ps = max(prompts of all in passes of 8192 tokens, layers layer passes)
  // On kernels without an engine's costs, which are of later years. Empty: no
  // batch, no target, or a time that is none.
  std::optional<OtherPrediction> StaticBatch(const ServingRow& row);

  // Workers of one pool share the load evenly. A token takes a decode pass; to
  // the first one a prompt's own passes, those of others before it (of a server
  // of one fixed time, and a tenth of all at once), keys and values over the
  // network, and the engine's constants. Empty: workers or layouts are not
  // known, or there is no target.
  std::optional<OtherPrediction> Disaggregated(const ServingRow& row);

 private:
  ServingTargets kernels_;
  ServingTargets served_;
  model::OpList ops_;  // Keeps its memory.
};

}  // namespace mansard::calibrate
