#include "server/prediction_metrics.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/metric_buckets.h"
#include "server/metric_family.h"

namespace mansard::server {
namespace {

constexpr int kPhaseCount = 3;
constexpr size_t kOpKindCount = static_cast<size_t>(model::OpKind::kHost) + 1;
// Beyond, every series is "other" already.
constexpr size_t kMaxPredictionKeys = kMaxSeries;

// The series of one model, hardware and phase.
struct PredictionSeries {
  prometheus::Histogram* step = nullptr;
  prometheus::Counter* flops = nullptr;
  prometheus::Counter* read_bytes = nullptr;
  prometheus::Counter* write_bytes = nullptr;
  std::array<prometheus::Counter*, model::kBoundCount> bounds{};
  bool step_overflows = false;  // And those of work.
  bool bounds_overflow = false;
};

struct PredictionKey {
  std::string model;
  std::string hardware;
  model::Phase phase;
};

// The same, of texts that another holds.
struct PredictionName {
  absl::string_view model;
  absl::string_view hardware;
  model::Phase phase;
};

struct PredictionLess {
  using is_transparent = void;  // NOLINT(readability-identifier-naming)

  static auto Parts(const PredictionKey& key) {
    return std::tuple(absl::string_view(key.model),
                      absl::string_view(key.hardware), key.phase);
  }
  static auto Parts(const PredictionName& name) {
    return std::tuple(name.model, name.hardware, name.phase);
  }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return Parts(a) < Parts(b);
  }
};

// What the step does on one device.
struct StepWork {
  double flops = 0;
  double read_bytes = 0;
  double write_bytes = 0;
};

StepWork WorkOf(const model::OpList& ops) {
  StepWork sum;
  for (const model::Op& op : ops) {
    const double repeat = op.repeat;
    const model::Work& work = op.work;
    sum.flops += repeat * work.tensor.value();
    sum.read_bytes +=
        repeat * (work.weights + work.kv_read + work.activations_in).value();
    sum.write_bytes += repeat * (work.kv_write + work.activations_out).value();
  }
  return sum;
}

ClosedLabel OpKinds() {
  ClosedLabel label{.name = "op_kind", .values = {}};
  for (size_t i = 0; i < kOpKindCount; ++i) {
    label.values.emplace_back(model::OpKindName(static_cast<model::OpKind>(i)));
  }
  return label;
}

}  // namespace

struct PredictionMetrics::Families {
  using CounterFamily = prometheus::Family<prometheus::Counter>;

  prometheus::Family<prometheus::Histogram>& step;
  CounterFamily& flops;
  CounterFamily& read_bytes;
  CounterFamily& write_bytes;
  CounterFamily& bounds;
  CappedFamily<prometheus::Counter> extrapolations;
  // Of the step's times and its work.
  std::array<prometheus::Counter*, 4> step_overflows;
  prometheus::Counter& bounds_overflow;

  std::shared_mutex mutex;
  // Guarded by the mutex. A map's elements stay where they are.
  std::map<PredictionKey, PredictionSeries, PredictionLess> predictions;

  Families(prometheus::Registry& registry, CounterFamily& overflow)
      : step(Register<prometheus::Histogram>(registry, family::kPredictedStep)),
        flops(Register<prometheus::Counter>(registry, family::kEstimatedFlops)),
        read_bytes(Register<prometheus::Counter>(registry,
                                                 family::kEstimatedReadBytes)),
        write_bytes(Register<prometheus::Counter>(
            registry, family::kEstimatedWriteBytes)),
        bounds(
            Register<prometheus::Counter>(registry, family::kPredictedBound)),
        extrapolations(registry, family::kExtrapolations, "hardware", OpKinds(),
                       overflow),
        step_overflows{
            &overflow.Add({{"metric", family::kPredictedStep.name}}),
            &overflow.Add({{"metric", family::kEstimatedFlops.name}}),
            &overflow.Add({{"metric", family::kEstimatedReadBytes.name}}),
            &overflow.Add({{"metric", family::kEstimatedWriteBytes.name}})},
        bounds_overflow(
            overflow.Add({{"metric", family::kPredictedBound.name}})) {}

  const PredictionSeries& SeriesFor(const PredictionName& name);
  PredictionSeries MakeSeries(const PredictionKey& key);
  void CountExtrapolated(absl::string_view hardware,
                         const model::Estimate& estimate);
};

// The caller holds the mutex. Room for the "other" series is kept free.
PredictionSeries PredictionMetrics::Families::MakeSeries(
    const PredictionKey& key) {
  const size_t known = predictions.size();
  PredictionSeries series;
  series.step_overflows = known + kPhaseCount >= kMaxSeries;
  series.bounds_overflow =
      (known + kPhaseCount + 1) * model::kBoundCount > kMaxSeries;
  const auto labels = [&key](bool other) {
    return prometheus::Labels{
        {"model", other ? kOther : key.model},
        {"hardware", other ? kOther : key.hardware},
        {"phase", std::string(model::PhaseName(key.phase))}};
  };
  const prometheus::Labels of_step = labels(series.step_overflows);
  series.step = &step.Add(of_step, SecondsBuckets());
  series.flops = &flops.Add(of_step);
  series.read_bytes = &read_bytes.Add(of_step);
  series.write_bytes = &write_bytes.Add(of_step);
  prometheus::Labels bound_labels = labels(series.bounds_overflow);
  for (size_t i = 0; i < model::kBoundCount; ++i) {
    bound_labels["bound"] =
        std::string(model::BoundName(static_cast<model::Bound>(i)));
    series.bounds[i] = &bounds.Add(bound_labels);
  }
  return series;
}

const PredictionSeries& PredictionMetrics::Families::SeriesFor(
    const PredictionName& name) {
  {
    const std::shared_lock lock(mutex);
    const auto found = predictions.find(name);
    if (found != predictions.end()) return found->second;
  }
  const std::unique_lock lock(mutex);
  const auto found = predictions.find(name);
  if (found != predictions.end()) return found->second;
  PredictionKey key{std::string(name.model), std::string(name.hardware),
                    name.phase};
  // Names come and go with the catalog: those beyond the limit share the series
  // that they count in, so that nothing grows with them.
  if (predictions.size() >= kMaxPredictionKeys) {
    key.model = kOther;
    key.hardware = kOther;
  }
  return predictions.emplace(key, MakeSeries(key)).first->second;
}

void PredictionMetrics::Families::CountExtrapolated(
    absl::string_view hardware, const model::Estimate& estimate) {
  std::array<bool, kOpKindCount> counted{};
  for (size_t i = 0; i < estimate.times.size(); ++i) {
    const auto kind = static_cast<size_t>(estimate.ops[i].kind);
    if (!estimate.times[i].extrapolated || counted[kind]) continue;
    counted[kind] = true;
    extrapolations.For(hardware, kind).Increment();
  }
}

PredictionMetrics::PredictionMetrics(
    prometheus::Registry& registry,
    prometheus::Family<prometheus::Counter>& overflow)
    : families_(std::make_unique<Families>(registry, overflow)) {}
PredictionMetrics::~PredictionMetrics() = default;

void PredictionMetrics::Record(const std::string& model_id,
                               const std::string& hardware_id,
                               const model::Estimate& estimate,
                               const PredictionHandles& handles) {
  const model::PhaseEstimate& phase = estimate.phase;
  const absl::string_view hardware =
      hardware_id.empty() ? absl::string_view("inline") : hardware_id;
  std::atomic<const void*>& handle =
      handles.by_phase_[static_cast<size_t>(phase.phase)];
  // A series, once made, stays where it is.
  const void* known = handle.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = &families_->SeriesFor(
        {model_id.empty() ? absl::string_view("inline") : model_id, hardware,
         phase.phase});
    handle.store(known, std::memory_order_release);
  }
  const auto& series = *static_cast<const PredictionSeries*>(known);
  series.step->Observe(phase.estimate.value());
  const StepWork work = WorkOf(estimate.ops);
  series.flops->Increment(work.flops);
  series.read_bytes->Increment(work.read_bytes);
  series.write_bytes->Increment(work.write_bytes);
  for (size_t i = 0; i < model::kBoundCount; ++i) {
    series.bounds[i]->Increment(phase.bound_times[i].value());
  }
  families_->CountExtrapolated(hardware, estimate);
  if (series.step_overflows) {
    for (prometheus::Counter* counter : families_->step_overflows) {
      counter->Increment();
    }
  }
  if (series.bounds_overflow) families_->bounds_overflow.Increment();
}

}  // namespace mansard::server
