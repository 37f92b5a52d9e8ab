// The main job as one call: a resolved target and a pass -> the answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/base/violations.h"
#include "model/estimate/aggregate.h"
#include "model/estimate/formats.h"
#include "model/estimate/kv_send.h"
#include "model/estimate/memory.h"
#include "model/estimate/pipeline.h"
#include "model/estimate/target_spec.h"
#include "model/hardware/hardware_profile.h"
#include "model/lower/lower.h"
#include "model/workload/layout.h"

namespace mansard::model {

// What of a target its stack's costs vary by: weights of experts tell a graph
// that has some, else those of feed-forwards.
CostCase CostCaseOf(const ModelGraph& graph, const PassFormats& formats,
                    const std::string& engine_version);

// A combination that was checked: every op it lowers to can be priced.
// Immutable; may be shared between threads.
class Target {
 public:
  // Violations are below "parallelism", "precision", "kv_head_count",
  // "kv_transfer", "limits" (see CheckEngineMemoryChoice),
  // "all_reduce_algorithm" (the tensor ranks have it, for some buffer) and
  // "overlap": its efficiency is 0 to 1, it takes fewer multiprocessors than
  // the device is known to have, and there is no pipeline.
  // A format that the device or the stack cannot compute in is not a
  // violation but an error: FAILED_PRECONDITION, whose message lists the
  // supported formats; INVALID_ARGUMENT stands for `violations` not empty.
  static absl::StatusOr<Target> Create(const TargetSpec& spec,
                                       Violations& violations);

  // As it was asked for; to ask for another one like it.
  const TargetSpec& spec() const { return spec_; }
  const ModelGraph& graph() const { return *graph_; }
  const HardwareProfile& hardware() const { return *hardware_; }
  const Layout& layout() const { return layout_; }
  const PassFormats& formats() const { return formats_; }
  const Fusion& fusion() const { return fusion_; }
  HardwareView view() const { return {hardware_->device(), *fabric_, *stack_}; }
  // Of this target, which outlives it.
  PassSetup setup() const {
    return {*graph_, layout_, formats_, fusion_, view(), spec_.overlap};
  }
  // What was assumed where sources are silent; shown with every answer.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Target(std::shared_ptr<const ModelGraph> graph,
         std::shared_ptr<const HardwareProfile> hardware, const Fabric* fabric,
         const KernelStack* stack, Layout layout, PassFormats formats);
  // What the caller would have otherwise than the stack.
  void Choose();
  // Fills the assumptions.
  void Describe(const std::vector<std::string>& of_formats);

  TargetSpec spec_;
  std::shared_ptr<const ModelGraph> graph_;
  std::shared_ptr<const HardwareProfile> hardware_;
  const Fabric* fabric_;
  std::shared_ptr<const KernelStack> changed_stack_;  // Null: the spec's.
  const KernelStack* stack_;
  Layout layout_;
  PassFormats formats_;
  Fusion fusion_;
  std::vector<std::string> assumptions_;
  std::vector<std::string> warnings_;
};

struct Estimate {
  OpList ops;
  std::vector<OpTime> times;  // One an op.
  PhaseEstimate phase;
  MemoryFootprint memory;
};

// Lower -> Price -> Aggregate. Cannot fail: a Target and a ForwardPass are
// complete by construction.
Estimate EstimatePass(const Target& target, const ForwardPass& pass);
// The same into an answer that the caller keeps: what it held is dropped, its
// memory is used again.
void EstimatePass(const Target& target, const ForwardPass& pass,
                  Estimate& estimate);

}  // namespace mansard::model
