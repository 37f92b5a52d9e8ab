// The subjects of one call: targets and engines as requests name them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "server/catalog/state.h"
#include "server/handlers/targets.h"

namespace mansard::server {

// Equal targets in a row share what they resolve to, sent along or not.
class TargetResolver {
 public:
  // The state outlives it and what it answers.
  explicit TargetResolver(const CatalogState& state) : state_(state) {}

  // As ResolveTarget.
  TargetAnswer Resolve(const v1::Target& target, model::Violations& violations);
  // Of a name, "engines/prod-a"; its violation is at "engine".
  TargetAnswer ResolveEngine(const std::string& name,
                             model::Violations& violations);
  // The one that ResolveEngine answered last; null where it was none, or
  // Resolve came after.
  const EngineEntry* engine() const { return engine_; }
  const Snapshot& snapshot() const { return *state_.snapshot; }

 private:
  TargetAnswer Known() const;

  const CatalogState& state_;
  std::string key_;
  // The last that could be resolved; null before.
  std::string last_key_;
  std::shared_ptr<const ResolvedTarget> last_;
  const EngineEntry* engine_ = nullptr;
};

}  // namespace mansard::server
