#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "server/catalog/state.h"
#include "server/catalog_metrics.h"
#include "server/metric_buckets.h"
#include "server/metric_family.h"
#include "server/process_metrics.h"
#include "server/version.h"

namespace mansard::server {
namespace {

constexpr int kCodeCount = 17;  // OK to UNAUTHENTICATED.

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

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;
  std::array<prometheus::Gauge*, kCallClassCount> in_flight{};
  std::atomic<int> calls_in_flight = 0;
  prometheus::Gauge& heavy_queued =
      Register<prometheus::Gauge>(registry, family::kHeavyQueued).Add({});
  prometheus::Histogram& heavy_wait =
      Register<prometheus::Histogram>(registry, family::kHeavyWaitSeconds)
          .Add({}, SecondsBuckets());
  prometheus::Counter& heavy_rejected =
      Register<prometheus::Counter>(registry, family::kHeavyRejected).Add({});
  std::array<MethodSeries, kMethodCount> methods;

  prometheus::Family<prometheus::Counter>& overflow =
      Register<prometheus::Counter>(registry, family::kLabelOverflow);
  PredictionMetrics predictions{registry, overflow};
  EngineMetrics engines{registry, overflow};
  CalibrationMetrics calibrations{registry, overflow};

  std::mutex mutex;  // Of the next.
  std::vector<prometheus::MetricFamily> catalog;

  explicit Families(const std::string& commit);
};

Metrics::Families::Families(const std::string& commit) {
  auto& started = Register<prometheus::Counter>(registry, family::kStarted);
  auto& handled = Register<prometheus::Counter>(registry, family::kHandled);
  auto& seconds =
      Register<prometheus::Histogram>(registry, family::kHandlingSeconds);
  auto& received =
      Register<prometheus::Counter>(registry, family::kMessagesReceived);
  auto& sent = Register<prometheus::Counter>(registry, family::kMessagesSent);
  auto& running = Register<prometheus::Gauge>(registry, family::kInFlight);
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
  Register<prometheus::Gauge>(registry, family::kBuildInfo)
      .Add({{"version", kVersion}, {"commit", commit}})
      .Set(1);
}

Metrics::Metrics(const std::string& commit)
    : families_(std::make_unique<Families>(commit)) {}
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

PredictionMetrics& Metrics::predictions() { return families_->predictions; }
EngineMetrics& Metrics::engines() { return families_->engines; }
CalibrationMetrics& Metrics::calibrations() { return families_->calibrations; }

void Metrics::SetCatalog(const CatalogState& state) {
  CatalogMetrics made = MetricsOf(state, absl::Now());
  for (const auto& [metric, count] : made.left_out) {
    families_->overflow.Add({{"metric", metric}}).Increment(count);
  }
  const std::lock_guard lock(families_->mutex);
  families_->catalog = std::move(made.families);
}

std::string Metrics::Scrape() const {
  std::vector<prometheus::MetricFamily> all = families_->registry.Collect();
  {
    const std::lock_guard lock(families_->mutex);
    all.insert(all.end(), families_->catalog.begin(), families_->catalog.end());
  }
  for (prometheus::MetricFamily& family : ProcessMetrics()) {
    all.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace mansard::server
