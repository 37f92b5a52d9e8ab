#include "model/serving/serving_engine.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"

namespace mansard::model {
namespace {

// Beyond it contexts are rare, and nodes would be far apart.
constexpr int64_t kLongestTabulated = 131072;

EngineLimits CurveLimits(const ServingLimits& limits, const Target& target) {
  // A pass of the limits, and verified drafts beside it.
  return {
      .tokens = std::min(EngineLimits::kMax,
                         limits.max_batched_tokens + 2 * limits.max_sequences),
      .positions = std::clamp(target.graph().spec().max_context,
                              limits.max_batched_tokens, EngineLimits::kMax)};
}

}  // namespace

std::unique_ptr<ServingEngine> ServingEngine::Resolve(const Target& target,
                                                      const ServingSpec& spec,
                                                      Violations& violations) {
  const size_t before = violations.all().size();
  const EngineMemory memory = target.view().stack.spec().memory.value_or(
      DefaultEngineMemory(target.view().device));
  const ServingLimits limits = ResolveLimits(spec.limits, memory, violations);
  CheckAdmission(spec.admission, violations);
  if (violations.all().size() != before) return nullptr;
  std::optional<Engine> engine =
      Engine::Resolve(target, CurveLimits(limits, target), violations);
  if (!engine.has_value()) return nullptr;
  return absl::WrapUnique(new ServingEngine(*std::move(engine), limits, spec));
}

ServingEngine::ServingEngine(Engine engine, const ServingLimits& limits,
                             const ServingSpec& spec)
    : engine_(std::move(engine)),
      limits_(limits),
      scheduling_(spec.scheduling.value_or(
          DefaultScheduling(target().view().stack.spec()))),
      admission_(spec.admission),
      role_(spec.role),
      constants_(spec.constants.value_or(
          DefaultServingConstants(target().view().stack.spec()))),
      room_(target(), limits_),
      ratios_(target(),
              {.decode_tokens = 2 * limits_.max_sequences,
               .prompt_tokens = limits_.max_batched_tokens,
               .context = std::clamp(target().graph().spec().max_context,
                                     int64_t{1}, kLongestTabulated)}) {}

StepPrediction ServingEngine::Step(const ForwardPass& pass,
                                   StepTimer& timer) const {
  const StepAnswer answer = engine_.StepTime(pass, timer);
  const StepRatios ratios = ratios_.At(pass);
  StepPrediction step;
  step.time = factors_.step * answer.time;
  step.p10 = Min(step.time, ratios.p10 * step.time);
  step.p90 = Max(step.time, ratios.p90 * step.time);
  step.bound = ratios.bound;
  step.tier = ratios.tier;
  step.extrapolated = ratios.extrapolated;
  step.source = answer.source;
  return step;
}

}  // namespace mansard::model
