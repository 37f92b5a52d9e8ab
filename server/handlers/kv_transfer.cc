#include "server/handlers/kv_transfer.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/kv_transfer.h"
#include "server/convert/estimate.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/handlers/subject.h"

namespace mansard::server {
namespace {

// Sources that have no such name are left out, with a violation.
model::KvTransferSpec FromProto(const v1::PlanKvTransferRequest& request,
                                model::Violations& violations) {
  model::KvTransferSpec spec;
  spec.prefix_tokens = request.prefix_token_count();
  spec.cached_tokens = request.cached_token_count();
  for (int i = 0; i < request.source_tiers_size(); ++i) {
    const std::string& name = request.source_tiers(i);
    const std::optional<model::KvSource> source = model::ParseKvSource(name);
    if (source.has_value()) {
      spec.sources.push_back(*source);
      continue;
    }
    violations.Add(
        model::Indexed("source_tiers", static_cast<size_t>(i)),
        absl::StrCat("is \"", name, "\"; allowed: ", model::KvSourceNames()));
  }
  if (request.nic_count() != 0) spec.nics = request.nic_count();
  if (request.has_storage_bandwidth_bytes_per_second()) {
    spec.storage_bandwidth =
        model::BytesPerSecond::Of(request.storage_bandwidth_bytes_per_second());
  }
  if (request.has_storage_latency_seconds()) {
    spec.storage_latency =
        model::Seconds::Of(request.storage_latency_seconds());
  }
  return spec;
}

TargetAnswer TargetOf(const CallContext& call,
                      const v1::PlanKvTransferRequest& request,
                      model::Violations& violations) {
  if (!request.has_target()) {
    violations.Add("target", "is required");
    return {};
  }
  const model::Violations::Scope scope(violations, "target");
  if (request.target().has_kv_transfer()) {
    violations.Add("kv_transfer", "is set; source_tiers says what is moved");
  }
  TargetResolver targets = call.targets();
  return targets.Resolve(request.target(), violations);
}

absl::Status CheckKernels(const model::Target& target,
                          const model::KvTransferSpec& spec) {
  const model::KernelStack& stack = target.view().stack;
  for (model::KvSource source : spec.sources) {
    const std::optional<model::LinkTier> tier = model::TierOf(source);
    if (!tier.has_value()) continue;
    const absl::Status served = model::CheckCollectives(*tier, stack);
    if (!served.ok()) {
      return CollectiveUnsupported(served, *tier, stack, target.hardware());
    }
  }
  return absl::OkStatus();
}

// Over everything that the numbers depend on.
std::string HashOf(const ResolvedTarget& target,
                   const model::KvTransferSpec& spec) {
  std::string text =
      absl::StrCat("\nprefix ", spec.prefix_tokens, " cached ",
                   spec.cached_tokens, " nics ", spec.nics.value_or(0));
  for (model::KvSource source : spec.sources) {
    absl::StrAppend(&text, " ", model::KvSourceName(source));
  }
  if (spec.storage_bandwidth.has_value()) {
    absl::StrAppend(&text, " ", spec.storage_bandwidth->value(), " ",
                    spec.storage_latency->value());
  }
  model::ContentHasher hasher = target.hasher;
  hasher.Add(text);
  return hasher.Text();
}

int64_t Whole(model::Bytes bytes) { return std::llround(bytes.value()); }

void ToProto(const model::KvFetch& fetch, model::Seconds recompute,
             v1::PlanKvTransferResponse::Option& proto) {
  proto.set_source_tier(std::string(model::KvSourceName(fetch.source)));
  proto.set_rank_bytes(Whole(fetch.rank));
  proto.set_instance_bytes(Whole(fetch.instance));
  proto.set_floor_seconds(fetch.floor.value());
  proto.set_transfer_seconds(fetch.estimate.value());
  proto.set_exposed_seconds(fetch.exposed.value());
  proto.set_fetch_is_faster(fetch.estimate <= recompute);
  for (const model::KvPreference& preference : fetch.preferences) {
    v1::PlanKvTransferResponse::Preference& row = *proto.add_preferences();
    row.set_from_token_count(preference.from_tokens);
    row.set_fetch_is_faster(preference.fetch);
  }
  proto.set_tier(TierToProto(fetch.tier));
}

// How the transfers are priced, once each.
void AddAssumptions(const model::Target& target,
                    const model::KvTransferSpec& spec,
                    v1::Resolution& resolution) {
  for (model::KvSource source : spec.sources) {
    if (!model::TierOf(source).has_value()) continue;
    for (const std::string& assumption : model::KvSendAssumptions(
             model::KvSendFrom(source, spec, false), target.view().stack)) {
      resolution.add_assumptions(assumption);
    }
  }
}

// The pass that recomputes.
model::ForwardPass PassOf(const model::KvTransferSpec& spec) {
  model::Violations none;
  return *model::ForwardPass::Create(
      {{.role = model::Role::kPrefill,
        .request_count = 1,
        .new_tokens = spec.prefix_tokens - spec.cached_tokens,
        .prior_tokens = spec.cached_tokens}},
      spec.prefix_tokens, none);
}

}  // namespace

absl::Status PlanKvTransfer(CallContext& call,
                            const v1::PlanKvTransferRequest& request,
                            v1::PlanKvTransferResponse& response) {
  model::Violations violations;
  const TargetAnswer answer = TargetOf(call, request, violations);
  const model::KvTransferSpec spec = FromProto(request, violations);
  model::CheckKvTransfer(spec, answer.graph.max_context, violations);
  if (answer.resolved != nullptr) {
    model::CheckKvSources(answer.resolved->target, spec, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(answer.error);
  const model::Target& target = answer.resolved->target;
  RETURN_IF_ERROR(CheckKernels(target, spec));

  absl::Status alive;
  const std::optional<model::KvTransferPlan> plan =
      model::PlanKvTransfer(target, spec, [&call, &alive] {
        alive = call.CheckAlive();
        return alive.ok();
      });
  if (!plan.has_value()) return alive;
  response.set_rank_bytes(Whole(plan->rank));
  response.set_instance_bytes(Whole(plan->instance));
  response.set_recompute_seconds(plan->recompute.value());
  for (const model::KvFetch& fetch : plan->fetches) {
    ToProto(fetch, plan->recompute, *response.add_options());
  }
  const Subject subject{
      answer.resolved, PassOf(spec), {}, {}, HashOf(*answer.resolved, spec)};
  ToProto(subject, model::EstimatePass(target, subject.pass),
          *response.mutable_resolution());
  AddAssumptions(target, spec, *response.mutable_resolution());
  return absl::OkStatus();
}

}  // namespace mansard::server
