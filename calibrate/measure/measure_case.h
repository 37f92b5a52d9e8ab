// The measuring loop of one case: warm-up, samples until the median is known
// well enough, disturbances set aside, and an account of all of it.
#pragma once

#include <functional>
#include <string>

#include "calibrate/measure/backend.h"
#include "calibrate/measure/case.h"
#include "calibrate/measure/statistics.h"

namespace mansard::calibrate {

struct LoopOptions {
  int min_samples = 10;
  int max_samples = 200;
  // The samples end once the interval's half width is below this share of the
  // median.
  double target_half_width = 0.01;
  // An interval wider than this is no result: the case is noisy.
  double noisy_half_width = 0.05;
  double case_seconds = 2;  // At most, of sampling; 3 samples all the same.
  double sustained_seconds = 3;  // Of a sustained case before its samples.
  // A sample at less than this share of the fastest clock is throttled.
  double least_clock_ratio = 0.75;
  double recovery_seconds = 0.05;  // Of a pause after a throttled sample.
  int max_warm_ups = 8;            // Until two runs agree.
  double warm_up_agreement = 0.05;
};

enum class Outcome {
  kMeasured,
  kNoisy,    // A median, but not to be trusted; the reason says why.
  kSkipped,  // Not run; the reason says why.
  kFailed,   // Wrong results or a device's error.
};
absl::string_view OutcomeName(Outcome outcome);

struct CaseResult {
  Case measured;
  Outcome outcome = Outcome::kSkipped;
  // Of noisy, skipped and failed cases why; of measured ones what was seen on
  // the way: outliers, drift, a retest.
  std::string reason = "";
  SampleStatistics seconds = {};  // Of the samples kept; no count: no run.
  size_t rejected = 0;            // Samples that were disturbed.
  double clock_hertz = 0;         // Median of the samples kept; 0: not known.
  double run_operations = 0;      // Of one run.
};

// Told of every timed sample, rejected ones too.
using SampleSink = std::function<void(const Sample& sample)>;

// Ends at `deadline` on the backend's clock at the latest, one run aside.
// `fastest_clock` is the highest clock seen so far and is raised.
CaseResult MeasureCase(Backend& backend, const Case& measured,
                       const LoopOptions& options, double deadline,
                       double& fastest_clock, const SampleSink& sink);

}  // namespace mansard::calibrate
