// A resolved engine as a serving scheduler asks it: limits, room and steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/base/violations.h"
#include "model/estimate/engine.h"
#include "model/estimate/step_time.h"
#include "model/serving/kv_room.h"
#include "model/serving/serving_spec.h"
#include "model/serving/step_ratios.h"

namespace mansard::model {

// One step of the engine. p10 <= time <= p90.
struct StepPrediction {
  Seconds time;
  Seconds p10;
  Seconds p90;
  Bound bound = Bound::kMemory;
  Tier tier = Tier::kSpec;
  bool extrapolated = false;
  StepSource source = StepSource::kEngine;
};

// Immutable but for SetFactors; may be shared between threads. Not moved: parts
// of it refer to each other.
class ServingEngine {
 public:
  // Null with violations where the rules of ResolveLimits or CheckAdmission are
  // broken. A target whose model does not fit is no violation: it has room for
  // nothing. Takes some ten milliseconds: the engine's curves hold all passes
  // of the limits with one draft a sequence, and contexts up to the model's.
  static std::unique_ptr<ServingEngine> Resolve(const Target& target,
                                                const ServingSpec& spec,
                                                Violations& violations);
  ServingEngine(const ServingEngine&) = delete;
  ServingEngine& operator=(const ServingEngine&) = delete;

  // All times hold them from then on. Precondition: nobody else looks.
  void SetFactors(const OwnFactors& factors) { factors_ = factors; }

  // Engine::StepTime, with the interval and the bound of StepRatioTable.
  // Allocates nothing where the source is kEngine.
  StepPrediction Step(const ForwardPass& pass, StepTimer& timer) const;
  // The time alone.
  Seconds StepTime(const ForwardPass& pass, StepTimer& timer) const {
    return factors_.step * engine_.StepTime(pass, timer).time;
  }

  // Without the factors.
  const Engine& engine() const { return engine_; }
  const Target& target() const { return engine_.target(); }
  const ServingLimits& limits() const { return limits_; }
  Scheduling scheduling() const { return scheduling_; }
  const Admission& admission() const { return admission_; }
  ServingRole role() const { return role_; }
  const ServingConstants& constants() const { return constants_; }
  const OwnFactors& factors() const { return factors_; }
  const KvRoom& room() const { return room_; }

  // On all data ranks together.
  int64_t data_ranks() const { return target().layout().data(); }
  int64_t max_batch() const { return limits_.max_sequences * data_ranks(); }
  int64_t kv_token_capacity() const { return room_.token_capacity(); }

  size_t memory_bytes() const {
    return engine_.memory_bytes() + ratios_.memory_bytes();
  }

 private:
  ServingEngine(Engine engine, const ServingLimits& limits,
                const ServingSpec& spec);

  Engine engine_;
  ServingLimits limits_;
  Scheduling scheduling_;
  Admission admission_;
  ServingRole role_;
  ServingConstants constants_;
  OwnFactors factors_;
  KvRoom room_;  // Of the engine's target.
  StepRatioTable ratios_;
};

}  // namespace mansard::model
