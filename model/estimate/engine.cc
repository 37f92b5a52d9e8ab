#include "model/estimate/engine.h"

namespace mansard::model {

absl::string_view StepSourceName(StepSource source) {
  switch (source) {
    case StepSource::kEngine:
      return "engine";
    case StepSource::kLimits:
      return "limits";
    case StepSource::kRouting:
      return "routing";
    case StepSource::kDrafts:
      return "drafts";
    case StepSource::kEncoder:
      return "encoder";
    case StepSource::kLayout:
      return "layout";
    case StepSource::kChecks:
      return "checks";
  }
  return "";
}

StepSource Engine::SourceOfKind(const ForwardPass& pass) const {
  const Layout& layout = target_.layout();
  if (layout.pipeline() > 1 || layout.context() > 1 ||
      layout.micro_batches() > 1 || target_.spec().overlap.has_value() ||
      target_.spec().kv_send.has_value()) {
    return StepSource::kLayout;
  }
  if (pass.drafting().draft_tokens > 0) return StepSource::kDrafts;
  if (pass.encoder_tokens() > 0) return StepSource::kEncoder;
  if (pass.routing().kind != ExpertRouting::Kind::kIndependent) {
    return StepSource::kRouting;
  }
  return agrees_ ? StepSource::kEngine : StepSource::kChecks;
}

bool Engine::Holds(const StepCounts& counts) const {
  return counts.tokens <= limits_.tokens &&
         counts.expert_tokens <= limits_.tokens * target_.layout().data() &&
         counts.prompt_positions <= limits_.positions;
}

StepSource Engine::SourceOf(const ForwardPass& pass) const {
  const StepSource source = SourceOfKind(pass);
  if (source != StepSource::kEngine) return source;
  return Holds(CountsOf(pass, target_.layout())) ? StepSource::kEngine
                                                 : StepSource::kLimits;
}

StepAnswer Engine::StepTime(const ForwardPass& pass, StepTimer& timer) const {
  StepSource source = SourceOfKind(pass);
  if (source == StepSource::kEngine) {
    const StepCounts counts = CountsOf(pass, target_.layout());
    if (Holds(counts)) return {TimeOf(counts, pass), source};
    source = StepSource::kLimits;
  }
  return {timer.Estimate(target_, pass), source};
}

void Engine::AddCurves(const StepCounts& counts, Sum& sum) const {
  const auto add = [&](CurveIndex index, int64_t count) {
    if (count == 0) return;
    const Curve& curve = curves_[index];
    sum.time += curve.times.At(count);
    sum.launches += curve.launches;
  };
  add(kTokens, counts.tokens);
  add(kExpertTokens, counts.expert_tokens);
  add(kDecodeTokens, counts.decode_tokens);
  add(kLogits, counts.logits);
  add(counts.prompt_cached == 0 ? kFreshPrompts : kCachedPrompts,
      counts.prompt_positions);
}

void Engine::AddGroups(const StepCounts& counts, const ForwardPass& pass,
                       Sum& sum) const {
  for (const RequestGroup& whole : pass.groups()) {
    const RequestGroup group = OnDataRank(whole, target_.layout());
    for (const CallOp& call :
         group.role == Role::kDecode ? decode_ops_ : prompt_ops_) {
      sum.Add(call.repeat, pricer_.Estimate(ForGroup(call.sample, group,
                                                     counts.phase, target_)));
    }
  }
}

void Engine::AddPassOps(const StepCounts& counts, const ForwardPass& pass,
                        Sum& sum) const {
  for (const CallOp& call : pass_ops_) {
    if (call.dependence == OpDependence::kLatents &&
        counts.prompt_cached == 0) {
      continue;
    }
    sum.Add(call.repeat,
            pricer_.Estimate(ForPass(call.sample, counts, pass, target_)));
  }
}

// The host's part is the last; without CUDA graphs it holds the launches that
// the device's time does not cover.
Seconds Engine::Total(const StepCounts& counts, const Sum& sum) const {
  const HostCost& host = target_.view().stack.spec().host;
  const Seconds own =
      pricer_.Estimate(HostOp({counts.requests, counts.prompt_tokens}));
  if (host.cuda_graphs) return sum.time + own;
  return Max(sum.time, sum.launches * host.eager_launch) + own;
}

Seconds Engine::TimeOf(const StepCounts& counts,
                       const ForwardPass& pass) const {
  Sum sum;
  AddCurves(counts, sum);
  AddGroups(counts, pass, sum);
  AddPassOps(counts, pass, sum);
  return Total(counts, sum);
}

size_t Engine::nodes() const {
  size_t nodes = 0;
  for (const Curve& curve : curves_) nodes += curve.times.nodes();
  return nodes;
}

size_t Engine::memory_bytes() const {
  size_t bytes = sizeof(Engine);
  for (const Curve& curve : curves_) bytes += curve.times.memory_bytes();
  for (const auto* ops : {&decode_ops_, &prompt_ops_, &pass_ops_}) {
    bytes += ops->capacity() * sizeof(CallOp);
  }
  return bytes;
}

}  // namespace mansard::model
