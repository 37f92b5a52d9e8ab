// Metrics of what estimates answered.
#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "model/estimate/estimate.h"
#include "server/prediction_handles.h"

namespace mansard::server {

// Thread-safe. With handles that know their series, a step costs a few atomic
// additions.
class PredictionMetrics {
 public:
  PredictionMetrics(prometheus::Registry& registry,
                    prometheus::Family<prometheus::Counter>& overflow);
  ~PredictionMetrics();

  // Empty ids stand for inline graphs and profiles.
  void Record(const std::string& model_id, const std::string& hardware_id,
              const model::Estimate& estimate,
              const PredictionHandles& handles);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace mansard::server
