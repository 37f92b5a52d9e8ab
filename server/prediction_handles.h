// Where the metrics of what is predicted are found again.
#pragma once

#include <array>
#include <atomic>

namespace mansard::server {

// The series of one model on one hardware, looked up at their first use and
// kept: what is asked about often lies with what was resolved for it. Of one
// server. Copies start anew.
class PredictionHandles {
 public:
  PredictionHandles() = default;
  PredictionHandles(const PredictionHandles&) {}
  PredictionHandles& operator=(const PredictionHandles&) = delete;

 private:
  friend class PredictionMetrics;
  mutable std::array<std::atomic<const void*>, 3> by_phase_{};
};

}  // namespace mansard::server
