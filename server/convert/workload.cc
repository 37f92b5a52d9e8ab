#include "server/convert/workload.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::server {
namespace {

std::optional<model::Role> FromProto(v1::ForwardPass::Role role) {
  if (role == v1::ForwardPass::ROLE_PREFILL) return model::Role::kPrefill;
  if (role == v1::ForwardPass::ROLE_DECODE) return model::Role::kDecode;
  // Unset, or of a newer version: proto3 lets any number through.
  return std::nullopt;
}

model::Drafting FromProto(const v1::Drafting& proto) {
  model::Drafting drafting{.draft_tokens = proto.draft_token_count()};
  if (proto.has_acceptance_rate()) {
    drafting.acceptance_rate = proto.acceptance_rate();
  }
  return drafting;
}

}  // namespace

model::Parallelism FromProto(const v1::Parallelism& proto) {
  return {.tensor = proto.tensor_size(),
          .pipeline = proto.pipeline_size(),
          .expert = proto.expert_size(),
          .data = proto.data_size(),
          .moe_tensor = proto.moe_tensor_size(),
          .context = proto.context_size(),
          .nodes = proto.node_count(),
          .micro_batches = proto.micro_batch_count()};
}

std::optional<model::ExpertRouting> RoutingFromProto(
    const v1::ExpertRouting& proto, model::Violations& violations) {
  using Kind = model::ExpertRouting::Kind;
  model::ExpertRouting routing;
  routing.shares.assign(proto.expert_shares().begin(),
                        proto.expert_shares().end());
  switch (proto.kind()) {
    case v1::ExpertRouting::KIND_UNSPECIFIED:
    case v1::ExpertRouting::KIND_INDEPENDENT:
      routing.kind = Kind::kIndependent;
      break;
    case v1::ExpertRouting::KIND_SPREAD:
      routing.kind = Kind::kSpread;
      break;
    case v1::ExpertRouting::KIND_HISTOGRAM:
      routing.kind = Kind::kHistogram;
      return routing;
    default:  // Of a newer version: proto3 lets any number through.
      violations.Add("kind", absl::StrCat("is ", static_cast<int>(proto.kind()),
                                          "; allowed: KIND_INDEPENDENT, "
                                          "KIND_SPREAD, KIND_HISTOGRAM"));
      return std::nullopt;
  }
  if (!routing.shares.empty()) {
    violations.Add("expert_shares",
                   absl::StrCat("has ", routing.shares.size(),
                                " entries; only KIND_HISTOGRAM takes any"));
    return std::nullopt;
  }
  return routing;
}

std::optional<model::ForwardPass> FromProto(const v1::ForwardPass& proto,
                                            const GraphFacts& graph,
                                            model::Violations& violations) {
  model::RequestGroups groups;
  bool roles_known = true;
  for (int i = 0; i < proto.groups_size(); ++i) {
    const v1::ForwardPass::Group& group = proto.groups(i);
    const std::optional<model::Role> role = FromProto(group.role());
    if (!role.has_value()) {
      roles_known = false;
      violations.Add(
          absl::StrCat(model::Indexed("groups", static_cast<size_t>(i)),
                       ".role"),
          absl::StrCat("is ", static_cast<int>(group.role()),
                       "; allowed: ROLE_PREFILL, ROLE_DECODE"));
    }
    groups.push_back({.role = role.value_or(model::Role::kDecode),
                      .request_count = group.request_count(),
                      .new_tokens = group.new_token_count(),
                      .prior_tokens = group.prior_token_count(),
                      .encoder_tokens = group.encoder_token_count()});
  }
  std::optional<model::ForwardPass> pass = model::ForwardPass::Create(
      std::move(groups), graph.max_context, violations);
  if (pass.has_value() && graph.cross_attention == false) {
    pass->RefuseEncoder(violations);
  }
  if (!proto.has_expert_routing() && !proto.has_drafting()) {
    return roles_known ? pass : std::nullopt;
  }
  const std::optional<model::ForwardPass> created = pass;
  std::optional<model::ExpertRouting> routing;
  {
    const model::Violations::Scope scope(violations, "expert_routing");
    routing = RoutingFromProto(proto.expert_routing(), violations);
    if (pass.has_value() && routing.has_value() && graph.experts.has_value()) {
      pass = pass->WithRouting(*std::move(routing), *graph.experts, violations);
    }
  }
  if (created.has_value() && proto.has_drafting() &&
      graph.draft_modules.has_value()) {
    const model::Violations::Scope scope(violations, "drafting");
    const model::Drafting drafting = FromProto(proto.drafting());
    // Of the pass as it was created: routing's mistakes do not hide these.
    if (!created->WithDrafting(drafting, *graph.draft_modules, violations)) {
      pass.reset();
    }
    if (pass.has_value()) {
      pass = pass->WithDrafting(drafting, *graph.draft_modules, violations);
    }
  }
  if (!roles_known) return std::nullopt;
  return pass;
}

}  // namespace mansard::server
