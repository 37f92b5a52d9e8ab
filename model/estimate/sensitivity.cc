#include "model/estimate/sensitivity.h"

#include "model/estimate/step_time.h"
#include "model/price/scaled_hardware.h"

namespace mansard::model {

std::vector<Sensitivity> SensitivitiesOf(const Target& target,
                                         const ForwardPass& pass,
                                         const PhaseEstimate& phase,
                                         double change) {
  std::vector<Sensitivity> rows;
  StepTimer timer;
  for (int i = 0; i < kResourceCount; ++i) {
    Sensitivity row;
    row.resource = static_cast<Resource>(i);
    const bool is_time = BoundOf(row.resource) == Bound::kOverhead;
    const OwnedHardware changed = Faster(
        target.view(), row.resource, is_time ? 1 / (1 - change) : 1 + change);
    const PassSetup own = target.setup();
    row.time = timer.Estimate({own.graph, own.layout, own.formats, own.fusion,
                               changed.view(), own.overlap},
                              pass);
    row.gain = phase.estimate - row.time;
    row.share = phase.attributed[row.resource] / phase.estimate;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace mansard::model
