#include "server/engine_metrics.h"

#include <cmath>
#include <string>

#include "server/metric_buckets.h"
#include "server/metric_family.h"

namespace mansard::server {
namespace {

constexpr int kPhaseCount = 3;
constexpr int kLimitCount = 3;

// The names of the first `count` values of an enum.
template <class Enum>
ClosedLabel Closed(const char* name, int count,
                   absl::string_view (*name_of)(Enum)) {
  ClosedLabel label{.name = name, .values = {}};
  for (int i = 0; i < count; ++i) {
    label.values.emplace_back(name_of(static_cast<Enum>(i)));
  }
  return label;
}

ClosedLabel Phases() {
  return Closed<model::Phase>("phase", kPhaseCount, &model::PhaseName);
}

}  // namespace

struct EngineMetrics::Families {
  CappedFamily<prometheus::Histogram> batches;
  CappedFamily<prometheus::Counter> recommendations;
  CappedFamily<prometheus::Counter> observed;
  CappedFamily<prometheus::Counter> expected;
  CappedFamily<prometheus::Counter> observations;
  CappedFamily<prometheus::Histogram> ratios;

  Families(prometheus::Registry& registry, CounterFamily& overflow)
      : batches(registry, family::kRecommendedBatch, "engine", {}, overflow,
                RequestBuckets()),
        recommendations(registry, family::kRecommendations, "engine",
                        Closed<model::BatchLimit>("limit", kLimitCount,
                                                  &model::BatchLimitName),
                        overflow),
        observed(registry, family::kObservedSeconds, "engine", Phases(),
                 overflow),
        expected(registry, family::kExpectedSeconds, "engine", Phases(),
                 overflow),
        observations(registry, family::kObservations, "engine", Phases(),
                     overflow),
        ratios(registry, family::kObservedRatio, "engine", Phases(), overflow,
               RatioBuckets()) {}
};

EngineMetrics::EngineMetrics(prometheus::Registry& registry,
                             CounterFamily& overflow)
    : families_(std::make_unique<Families>(registry, overflow)) {}
EngineMetrics::~EngineMetrics() = default;

void EngineMetrics::Recommended(absl::string_view engine_id,
                                const model::BatchAnswer& answer) {
  families_->batches.For(engine_id).Observe(static_cast<double>(answer.batch));
  families_->recommendations.For(engine_id, static_cast<size_t>(answer.limit))
      .Increment();
}

void EngineMetrics::Observed(absl::string_view engine_id, model::Phase phase,
                             model::Seconds observed, double ratio) {
  const double expected = observed.value() / ratio;
  if (!(ratio > 0) || !std::isfinite(ratio) || !(observed.value() > 0) ||
      !std::isfinite(expected)) {
    return;
  }
  const auto index = static_cast<size_t>(phase);
  families_->observed.For(engine_id, index).Increment(observed.value());
  families_->expected.For(engine_id, index).Increment(expected);
  families_->observations.For(engine_id, index).Increment();
  families_->ratios.For(engine_id, index).Observe(ratio);
}

struct CalibrationMetrics::Families {
  CappedFamily<prometheus::Counter> calibrations;
  CappedFamily<prometheus::Counter> measurements;

  Families(prometheus::Registry& registry, CounterFamily& overflow)
      : calibrations(
            registry, family::kCalibrations, "hardware",
            {.name = "outcome", .values = {"kept", "applied", "unfit"}},
            overflow),
        measurements(registry, family::kMeasurements, "hardware",
                     {.name = "outcome",
                      .values = {"measured", "waived", "unstable", "failed"}},
                     overflow) {}
};

CalibrationMetrics::CalibrationMetrics(prometheus::Registry& registry,
                                       CounterFamily& overflow)
    : families_(std::make_unique<Families>(registry, overflow)) {}
CalibrationMetrics::~CalibrationMetrics() = default;

void CalibrationMetrics::Kept(absl::string_view hardware_id,
                              const v1::Calibration& calibration) {
  families_->calibrations.For(hardware_id, 0).Increment();
  for (const v1::Measurement& one : calibration.measurements()) {
    // Its rules say that it has an outcome.
    const auto outcome = static_cast<size_t>(one.outcome() - 1);
    families_->measurements.For(hardware_id, outcome).Increment();
  }
}

void CalibrationMetrics::Applied(absl::string_view hardware_id, bool fits) {
  families_->calibrations.For(hardware_id, fits ? 1 : 2).Increment();
}

}  // namespace mansard::server
