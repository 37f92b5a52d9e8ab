#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/catalog/state.h"
#include "server/process_metrics.h"
#include "server/version.h"

namespace mansard::server {
namespace {

struct FamilyInfo {
  const char* name;
  const char* help;
};

// Every family. Labels in brackets. process_* are in process_metrics.cc.
// grpc_* are the names that stock gRPC dashboards know.
constexpr FamilyInfo kStarted = {
    "grpc_server_started_total",
    "RPCs started [grpc_type, grpc_service, grpc_method]."};
constexpr FamilyInfo kHandled = {
    "grpc_server_handled_total",
    "RPCs finished [grpc_type, grpc_service, grpc_method, grpc_code]."};
constexpr FamilyInfo kHandlingSeconds = {
    "grpc_server_handling_seconds",
    "Time from the request to its answer, with the wait of a heavy call and "
    "without the network [grpc_type, grpc_service, grpc_method]."};
constexpr FamilyInfo kMessagesReceived = {
    "grpc_server_msg_received_total",
    "Messages of streams that came [grpc_type, grpc_service, grpc_method]."};
constexpr FamilyInfo kMessagesSent = {
    "grpc_server_msg_sent_total",
    "Messages of streams that were answered [grpc_type, grpc_service, "
    "grpc_method]."};
constexpr FamilyInfo kInFlight = {
    "mansard_rpcs_in_flight",
    "RPCs started whose answer has not left; hot ones run at once, heavy ones "
    "on the pool [class]."};
constexpr FamilyInfo kHeavyQueued = {
    "mansard_heavy_rpcs_queued",
    "Heavy RPCs that wait for a thread of the pool."};
constexpr FamilyInfo kHeavyWaitSeconds = {
    "mansard_heavy_rpc_wait_seconds",
    "Waits of heavy RPCs for a thread of the pool."};
constexpr FamilyInfo kHeavyRejected = {
    "mansard_heavy_rpcs_rejected_total",
    "Heavy RPCs answered RESOURCE_EXHAUSTED because the queue was full."};
constexpr FamilyInfo kPredictedStep = {
    "mansard_predicted_step_seconds",
    "Step times that estimates answered [model, hardware, phase]."};
constexpr FamilyInfo kPredictedBound = {
    "mansard_predicted_bound_seconds_total",
    "Parts of the answered step times by what bounds them; over all bounds the "
    "sum of the step times [model, hardware, phase, bound]."};
constexpr FamilyInfo kCatalogResources = {"mansard_catalog_resources",
                                          "Resources in the catalog [kind]."};
constexpr FamilyInfo kBuildInfo = {"mansard_build_info",
                                   "1, with the version [version]."};
constexpr FamilyInfo kLabelOverflow = {
    "mansard_metric_label_overflow_total",
    "Times that a value counted as \"other\" because its family was full "
    "[metric]."};

// 10 us to 10 s; RPCs and model steps alike.
const std::vector<double>& SecondsBuckets() {
  static const auto* const kBuckets = new std::vector<double>{
      1e-5,   2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
      2.5e-2, 5e-2,   0.1,  0.25, 0.5,    1,    2.5,  5,      10};
  return *kBuckets;
}

constexpr int kCodeCount = 17;  // OK to UNAUTHENTICATED.
constexpr int kPhaseCount = 3;
// Beyond, every series is "other" already.
constexpr size_t kMaxPredictionKeys = kMaxSeries;

// As go-grpc-prometheus spells them.
constexpr std::array<const char*, kCodeCount> kCodeNames = {
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated"};

template <class Metric>
prometheus::Family<Metric>& Register(prometheus::Registry& registry,
                                     const FamilyInfo& info) {
  return prometheus::detail::Builder<Metric>()
      .Name(info.name)
      .Help(info.help)
      .Register(registry);
}

prometheus::Labels MethodLabels(Method method) {
  return {{"grpc_type", IsStream(method) ? "bidi_stream" : "unary"},
          {"grpc_service", NamesOf(method).service},
          {"grpc_method", NamesOf(method).method}};
}

// The series of one method.
struct MethodSeries {
  prometheus::Counter* started = nullptr;
  prometheus::Histogram* seconds = nullptr;
  prometheus::Counter* received = nullptr;  // Of streams, as the next.
  prometheus::Counter* sent = nullptr;
  std::array<prometheus::Counter*, kCodeCount> handled{};
};

// The series of one model, hardware and phase.
struct PredictionSeries {
  prometheus::Histogram* step = nullptr;
  std::array<prometheus::Counter*, model::kBoundCount> bounds{};
  bool step_overflows = false;
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
  using is_transparent = void;

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

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;
  std::array<prometheus::Gauge*, kCallClassCount> in_flight{};
  std::atomic<int> calls_in_flight = 0;
  prometheus::Gauge& heavy_queued =
      Register<prometheus::Gauge>(registry, kHeavyQueued).Add({});
  prometheus::Histogram& heavy_wait =
      Register<prometheus::Histogram>(registry, kHeavyWaitSeconds)
          .Add({}, SecondsBuckets());
  prometheus::Counter& heavy_rejected =
      Register<prometheus::Counter>(registry, kHeavyRejected).Add({});
  std::array<MethodSeries, kMethodCount> methods;

  prometheus::Family<prometheus::Histogram>& step =
      Register<prometheus::Histogram>(registry, kPredictedStep);
  prometheus::Family<prometheus::Counter>& bounds =
      Register<prometheus::Counter>(registry, kPredictedBound);
  prometheus::Family<prometheus::Gauge>& resources =
      Register<prometheus::Gauge>(registry, kCatalogResources);
  prometheus::Family<prometheus::Counter>& overflow =
      Register<prometheus::Counter>(registry, kLabelOverflow);
  prometheus::Counter& step_overflow =
      overflow.Add({{"metric", kPredictedStep.name}});
  prometheus::Counter& bounds_overflow =
      overflow.Add({{"metric", kPredictedBound.name}});

  std::shared_mutex mutex;
  // Guarded by the mutex. A map's elements stay where they are.
  std::map<PredictionKey, PredictionSeries, PredictionLess> predictions;

  Families();
  const PredictionSeries& SeriesFor(const PredictionName& name);
  PredictionSeries MakeSeries(const PredictionKey& key);
};

Metrics::Families::Families() {
  auto& started = Register<prometheus::Counter>(registry, kStarted);
  auto& handled = Register<prometheus::Counter>(registry, kHandled);
  auto& seconds = Register<prometheus::Histogram>(registry, kHandlingSeconds);
  auto& received = Register<prometheus::Counter>(registry, kMessagesReceived);
  auto& sent = Register<prometheus::Counter>(registry, kMessagesSent);
  auto& running = Register<prometheus::Gauge>(registry, kInFlight);
  for (int i = 0; i < kCallClassCount; ++i) {
    in_flight[static_cast<size_t>(i)] =
        &running.Add({{"class", CallClassName(static_cast<CallClass>(i))}});
  }
  for (int i = 0; i < kMethodCount; ++i) {
    prometheus::Labels labels = MethodLabels(static_cast<Method>(i));
    MethodSeries& series = methods[static_cast<size_t>(i)];
    series.started = &started.Add(labels);
    series.seconds = &seconds.Add(labels, SecondsBuckets());
    if (IsStream(static_cast<Method>(i))) {
      series.received = &received.Add(labels);
      series.sent = &sent.Add(labels);
    }
    for (size_t code = 0; code < kCodeCount; ++code) {
      labels["grpc_code"] = kCodeNames[code];
      series.handled[code] = &handled.Add(labels);
    }
  }
  Register<prometheus::Gauge>(registry, kBuildInfo)
      .Add({{"version", kVersion}})
      .Set(1);
}

// The caller holds the mutex. Room for the "other" series is kept free.
PredictionSeries Metrics::Families::MakeSeries(const PredictionKey& key) {
  const size_t known = predictions.size();
  PredictionSeries series;
  series.step_overflows = known + kPhaseCount >= kMaxSeries;
  series.bounds_overflow =
      (known + kPhaseCount + 1) * model::kBoundCount > kMaxSeries;
  const auto labels = [&key](bool other) {
    return prometheus::Labels{
        {"model", other ? "other" : key.model},
        {"hardware", other ? "other" : key.hardware},
        {"phase", std::string(model::PhaseName(key.phase))}};
  };
  series.step = &step.Add(labels(series.step_overflows), SecondsBuckets());
  prometheus::Labels bound_labels = labels(series.bounds_overflow);
  for (size_t i = 0; i < model::kBoundCount; ++i) {
    bound_labels["bound"] =
        std::string(model::BoundName(static_cast<model::Bound>(i)));
    series.bounds[i] = &bounds.Add(bound_labels);
  }
  return series;
}

const PredictionSeries& Metrics::Families::SeriesFor(
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
    key.model = "other";
    key.hardware = "other";
  }
  return predictions.emplace(key, MakeSeries(key)).first->second;
}

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::CallStarted(Method method, CallClass call_class) {
  families_->methods[static_cast<size_t>(method)].started->Increment();
  families_->in_flight[static_cast<size_t>(call_class)]->Increment();
  families_->calls_in_flight.fetch_add(1);
}

void Metrics::CallHandled(Method method, absl::StatusCode code,
                          double seconds) {
  const MethodSeries& series = families_->methods[static_cast<size_t>(method)];
  const auto index = static_cast<size_t>(code);
  const auto unknown = static_cast<size_t>(absl::StatusCode::kUnknown);
  series.handled[index < kCodeCount ? index : unknown]->Increment();
  series.seconds->Observe(seconds);
}

void Metrics::MessageAnswered(Method method) {
  const MethodSeries& series = families_->methods[static_cast<size_t>(method)];
  series.received->Increment();
  series.sent->Increment();
}

void Metrics::CallDone(CallClass call_class) {
  families_->in_flight[static_cast<size_t>(call_class)]->Decrement();
  families_->calls_in_flight.fetch_sub(1);
}

int Metrics::CallsInFlight() const { return families_->calls_in_flight.load(); }

void Metrics::HeavyQueued() { families_->heavy_queued.Increment(); }

void Metrics::HeavyStarted(double waited_seconds) {
  families_->heavy_queued.Decrement();
  families_->heavy_wait.Observe(waited_seconds);
}

void Metrics::HeavyRejected() {
  families_->heavy_queued.Decrement();
  families_->heavy_rejected.Increment();
}

void Metrics::RecordPrediction(const std::string& model_id,
                               const std::string& hardware_id,
                               const model::PhaseEstimate& estimate,
                               const PredictionHandles& handles) {
  std::atomic<const void*>& handle =
      handles.by_phase_[static_cast<size_t>(estimate.phase)];
  // A series, once made, stays where it is.
  const void* known = handle.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = &families_->SeriesFor(
        {model_id.empty() ? absl::string_view("inline") : model_id,
         hardware_id.empty() ? absl::string_view("inline") : hardware_id,
         estimate.phase});
    handle.store(known, std::memory_order_release);
  }
  const auto& series = *static_cast<const PredictionSeries*>(known);
  series.step->Observe(estimate.estimate.value());
  for (size_t i = 0; i < model::kBoundCount; ++i) {
    series.bounds[i]->Increment(estimate.bound_times[i].value());
  }
  if (series.step_overflows) families_->step_overflow.Increment();
  if (series.bounds_overflow) families_->bounds_overflow.Increment();
}

void Metrics::SetCatalog(const CatalogState& state) {
  const auto set = [this](const char* kind, size_t count) {
    families_->resources.Add({{"kind", kind}}).Set(static_cast<double>(count));
  };
  set("model_graph", state.snapshot->graphs().size());
  set("hardware_profile", state.snapshot->profiles().size());
  set("fabric", state.snapshot->fabrics().size());
  set("engine", state.engines.size());
}

std::string Metrics::Scrape() const {
  std::vector<prometheus::MetricFamily> all = families_->registry.Collect();
  for (prometheus::MetricFamily& family : ProcessMetrics()) {
    all.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace mansard::server
