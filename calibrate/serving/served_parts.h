// The passes behind a served run, by kinds of work.
#pragma once

#include <cstdint>

#include "calibrate/serving/serving_target.h"
#include "calibrate/tables/serving_rows.h"
#include "model/estimate/step_groups.h"
#include "model/serving/slo.h"

namespace mansard::calibrate {

// What a run's clients sent. Benchmarks of 1024 and 8192 tokens draw lengths
// evenly from 0.8 to 1 times those, send ten requests for each in flight and
// report means; no column says so (Mansard design, end to end §1.1).
struct RunLoad {
  model::RequestShape shape;
  double concurrency = 0;
  double requests_per_slot = 10;
};
RunLoad LoadOf(const ServingRow& row);

// Whether the engine stops decodes while it computes prompts.
bool IsPrefillFirst(const ServingRow& row);

// One kind of pass, or what prompts add to others.
struct PassParts {
  model::StepGroups groups;
  model::Seconds roofline;

  void Add(const PassParts& other, double weight) {
    groups.Add(other.groups, weight);
    roofline += weight * other.roofline;
  }
};

// Passes at the load's batch.
struct ServedParts {
  double batch = 0;              // Sequences that run, on all data ranks.
  double requests_that_fit = 0;  // Into the cache.
  double data_ranks = 1;
  double layers = 0;
  double prompt_passes = 0;
  double prompts_a_pass = 0;
  int64_t token_budget = 0;
  model::Admission admission;
  bool prefill_first = false;
  PassParts decode;
  // What one prompt adds to the decodes' passes; where decodes stop, as alone.
  PassParts prompt;
  PassParts prompt_alone;
};

// `ops` keeps its memory from call to call.
ServedParts PartsOfRun(const ServedTarget& served, const ServingRow& row,
                       const RunLoad& load, model::OpList& ops);

}  // namespace mansard::calibrate
