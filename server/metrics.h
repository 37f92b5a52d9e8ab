// What the server counts. All families are declared in metric_table.h, which is
// their documentation.
//
// Labels come from closed sets and from catalog ids only, so that callers
// cannot make series: an inline graph or profile counts as "inline". A family
// with ids has at most kMaxSeries (200) series; what would be beyond counts as
// "other", and mansard_metric_label_overflow_total says how often.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/call_class.h"
#include "server/engine_metrics.h"
#include "server/method.h"
#include "server/prediction_metrics.h"

namespace mansard::server {

struct CatalogState;

// Thread-safe. Handles are resolved once: a call costs a few atomic additions.
class Metrics {
 public:
  // `commit`: of mansard_build_info.
  explicit Metrics(const std::string& commit = "unknown");
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void CallStarted(Method method, CallClass call_class);
  void CallHandled(Method method, absl::StatusCode code, double seconds);
  // One message of a stream was answered.
  void MessageAnswered(Method method);
  // The answer has left.
  void CallDone(CallClass call_class);
  // Calls started and not done.
  int CallsInFlight() const;
  // A heavy call waits for a thread: until it starts or is rejected.
  void HeavyQueued();
  void HeavyStarted(double waited_seconds);
  void HeavyRejected();
  PredictionMetrics& predictions();
  EngineMetrics& engines();
  CalibrationMetrics& calibrations();
  // Those of a new state of the catalog.
  void SetCatalog(const CatalogState& state);

  // All families, the process's too, in the Prometheus text format.
  std::string Scrape() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace mansard::server
