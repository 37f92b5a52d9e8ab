// Metrics of engines under their names, and of calibrations.
#pragma once

#include <prometheus/registry.h>

#include <memory>

#include "absl/strings/string_view.h"
#include "mansard/v1/calibration_service.pb.h"
#include "model/base/units.h"
#include "model/serving/recommend_batch.h"
#include "model/workload/forward_pass.h"

namespace mansard::server {

using CounterFamily = prometheus::Family<prometheus::Counter>;

// Ids are those of engines in the catalog. Thread-safe; allocates nothing for
// an engine that it knows.
class EngineMetrics {
 public:
  EngineMetrics(prometheus::Registry& registry, CounterFamily& overflow);
  ~EngineMetrics();

  // What RecommendBatchSize answered.
  void Recommended(absl::string_view engine_id,
                   const model::BatchAnswer& answer);
  // One reported time; `ratio` is it over what was predicted, above 0. Of a run
  // the time to the first token is of kPrefill, the time per output token of
  // kDecode. Nothing where a value is not finite or not above 0.
  void Observed(absl::string_view engine_id, model::Phase phase,
                model::Seconds observed, double ratio);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// Ids are those of profiles in the catalog. Thread-safe.
class CalibrationMetrics {
 public:
  CalibrationMetrics(prometheus::Registry& registry, CounterFamily& overflow);
  ~CalibrationMetrics();

  // It was stored; counts what became of its measurements too.
  void Kept(absl::string_view hardware_id, const v1::Calibration& calibration);
  // ApplyCalibration; false: the profile has changed too much.
  void Applied(absl::string_view hardware_id, bool fits);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace mansard::server
