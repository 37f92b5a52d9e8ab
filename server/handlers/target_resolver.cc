#include "server/handlers/target_resolver.h"

#include <optional>
#include <utility>

#include "server/catalog/resource_name.h"

namespace mansard::server {
namespace {

// What is the same in every call of one snapshot.
bool IsOfCatalog(const v1::Target& target) {
  return !target.has_inline_model_graph() &&
         !target.has_inline_hardware_profile();
}

}  // namespace

TargetAnswer TargetResolver::Resolve(const v1::Target& target,
                                     model::Violations& violations) {
  engine_ = nullptr;
  target.SerializeToString(&key_);
  if (last_ != nullptr && key_ == last_key_) return Known();
  const bool lasting =
      key_.size() <= TargetCache::kMaxKeyBytes && IsOfCatalog(target);
  const ResolvedTarget* const kept =
      lasting ? state_.targets.Find(key_) : nullptr;
  if (kept != nullptr) {
    // The cache owns it: nothing is counted.
    last_ =
        std::shared_ptr<const ResolvedTarget>(std::shared_ptr<void>(), kept);
  } else {
    const size_t broken = violations.all().size();
    TargetAnswer answer = ResolveTarget(snapshot(), target, violations);
    if (answer.resolved == nullptr || violations.all().size() != broken) {
      return answer;
    }
    last_ = std::move(answer.resolved);
    if (lasting) state_.targets.Keep(key_, last_);
  }
  last_key_.swap(key_);
  return Known();
}

TargetAnswer TargetResolver::Known() const {
  return {.resolved = last_, .graph = last_->graph, .error = absl::OkStatus()};
}

TargetAnswer TargetResolver::ResolveEngine(const std::string& name,
                                           model::Violations& violations) {
  engine_ = nullptr;
  TargetAnswer answer;
  const std::optional<std::string> id =
      ParseResourceName(name, kEngines, "engine", violations);
  if (!id.has_value()) return answer;
  const absl::StatusOr<const EngineEntry*> found = state_.FindEngine(*id);
  if (!found.ok()) {
    answer.error = found.status();
    return answer;
  }
  engine_ = *found;
  // The state owns it: nothing is counted.
  answer.resolved = std::shared_ptr<const ResolvedTarget>(
      std::shared_ptr<void>(), engine_->resolved.get());
  answer.graph = answer.resolved->graph;
  return answer;
}

}  // namespace mansard::server
