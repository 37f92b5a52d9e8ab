// What the tests of metrics record, and how they read it.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "model/estimate/estimate.h"
#include "server/metrics.h"

namespace mansard::server {

inline model::Estimate DecodeStep(double seconds) {
  model::Estimate estimate;
  model::PhaseEstimate& phase = estimate.phase;
  phase.phase = model::Phase::kDecode;
  phase.estimate = model::Seconds::Of(seconds);
  phase.bound_times[static_cast<size_t>(model::Bound::kMemory)] =
      model::Seconds::Of(seconds * 0.75);
  phase.bound_times[static_cast<size_t>(model::Bound::kOverhead)] =
      model::Seconds::Of(seconds * 0.25);
  return estimate;
}

inline void Record(Metrics& metrics, const std::string& model_id,
                   const std::string& hardware_id,
                   const model::Estimate& estimate) {
  metrics.predictions().Record(model_id, hardware_id, estimate, {});
}

// Lines of the scrape that start with `prefix`.
inline std::vector<std::string> Lines(const Metrics& metrics,
                                      const std::string& prefix) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(metrics.Scrape(), '\n')) {
    if (absl::StartsWith(line, prefix)) lines.emplace_back(line);
  }
  return lines;
}

// Two GEMMs in ten layers, of which one is beyond its kernels' range, and one
// attention.
inline model::Estimate StepOfThreeOps() {
  model::Estimate estimate = DecodeStep(1);
  model::Op gemm = {};
  gemm.kind = model::OpKind::kGemm;
  gemm.repeat = 10;
  gemm.work.tensor = model::Flops::Of(1000);
  gemm.work.weights = model::Bytes::Of(100);
  gemm.work.activations_in = model::Bytes::Of(20);
  gemm.work.activations_out = model::Bytes::Of(30);
  model::Op attention = {};
  attention.kind = model::OpKind::kAttentionDecode;
  attention.work.tensor = model::Flops::Of(7);
  attention.work.kv_read = model::Bytes::Of(5);
  attention.work.kv_write = model::Bytes::Of(3);
  estimate.ops = {gemm, gemm, attention};
  estimate.times.resize(3);
  estimate.times[0].extrapolated = true;
  estimate.times[1].extrapolated = true;
  return estimate;
}

}  // namespace mansard::server
