#include "server/handlers/subject.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/estimate/assumptions.h"
#include "model/estimate/overlapped.h"
#include "model/price/extrapolation.h"
#include "server/convert/serving.h"
#include "server/convert/workload.h"
#include "server/handlers/what_if.h"

namespace mansard::server {
namespace {

// Over everything that the numbers depend on.
std::string HashOf(const ResolvedTarget& target,
                   const model::ForwardPass& pass) {
  std::string text =
      absl::StrCat("\nrouting ", static_cast<int>(pass.routing().kind));
  for (double share : pass.routing().shares) {
    absl::StrAppend(&text, " ", share);
  }
  if (pass.drafting().draft_tokens > 0) {
    absl::StrAppend(&text, "\ndrafts ", pass.drafting().draft_tokens);
  }
  if (pass.drafting().acceptance_rate.has_value()) {
    absl::StrAppend(&text, " accepted ", *pass.drafting().acceptance_rate);
  }
  for (const model::RequestGroup& group : pass.groups()) {
    absl::StrAppend(
        &text, "\n", group.role == model::Role::kPrefill ? "p" : "d", " ",
        group.request_count, " ", group.new_tokens, " ", group.prior_tokens);
    if (group.encoder_tokens > 0) {
      absl::StrAppend(&text, " encoder ", group.encoder_tokens);
    }
  }
  model::ContentHasher hasher = target.hasher;
  hasher.Add(text);
  return hasher.Text();
}

void AddWarnings(const model::Estimate& estimate, v1::Resolution& proto) {
  const std::string outside =
      model::ExtrapolationText(estimate.ops, estimate.times);
  if (!outside.empty()) proto.add_warnings(outside);
  if (!estimate.memory.fits) {
    proto.add_warnings(absl::StrFormat(
        "does not fit: weights, cache and reserve need %.1f GB of %.1f GB a "
        "device",
        model::ToGigabytes(estimate.memory.needed()),
        model::ToGigabytes(estimate.memory.budget)));
  }
}

}  // namespace

absl::StatusOr<Subject> Resolve(TargetResolver& targets,
                                const v1::EstimateRequest& request,
                                model::Violations& violations) {
  TargetAnswer target;
  if (request.has_target()) {
    const model::Violations::Scope scope(violations, "target");
    target = targets.Resolve(request.target(), violations);
  } else if (request.subject_case() == v1::EstimateRequest::kEngine) {
    target = targets.ResolveEngine(request.engine(), violations);
  } else {
    violations.Add("target", "is required, or engine");
  }
  const EngineEntry* const engine = targets.engine();
  std::optional<model::ForwardPass> pass;
  if (request.has_forward_pass_sums()) {
    const model::Violations::Scope scope(violations, "forward_pass_sums");
    pass = model::PassOfSums(FromProto(request.forward_pass_sums()),
                             target.graph.max_context, violations);
  } else if (request.has_forward_pass()) {
    const model::Violations::Scope scope(violations, "forward_pass");
    pass = FromProto(request.forward_pass(), target.graph, violations);
  } else {
    violations.Add("forward_pass", "is required, or forward_pass_sums");
  }
  EstimateParts parts;
  {
    const model::Violations::Scope scope(violations, "read_mask");
    parts = FromProto(request.read_mask(), violations);
  }
  absl::StatusOr<model::WhatIfChoices> choices = model::WhatIfChoices{};
  if (request.has_what_if() && !parts.what_if) {
    violations.Add("what_if", "is set; the read mask does not name what_if");
  } else if (parts.what_if && target.resolved != nullptr) {
    const model::Violations::Scope scope(violations, "what_if");
    choices = ChoicesOf(request.what_if(), targets.snapshot(),
                        target.resolved->target.hardware(), violations);
  }
  if (!violations.empty()) return absl::InvalidArgumentError("broken rules");
  RETURN_IF_ERROR(target.error);
  RETURN_IF_ERROR(choices.status());
  std::string hash = HashOf(*target.resolved, *pass);
  return Subject{.resolved = std::move(target.resolved),
                 .pass = *std::move(pass),
                 .parts = parts,
                 .choices = *std::move(choices),
                 .content_hash = std::move(hash),
                 .engine = engine,
                 .from_sums = request.has_forward_pass_sums()};
}

void ToProto(const Subject& subject, const model::Estimate& estimate,
             v1::Resolution& proto) {
  proto.CopyFrom(subject.resolved->resolution);
  proto.set_content_hash(subject.content_hash);
  if (subject.engine != nullptr) {
    proto.set_engine_revision(subject.engine->Revision());
    const v1::Resolution& resolution = subject.engine->proto.resolution();
    if (resolution.has_observed_factors()) {
      *proto.mutable_observed_factors() = resolution.observed_factors();
      proto.mutable_observed_factors()->set_applied(false);
    }
  }
  if (subject.from_sums) {
    proto.add_warnings(
        "counts_from_sums: the pass is one of like requests with these sums; "
        "how they spread beyond mean and variance is not known");
  }
  AddWarnings(estimate, proto);
  for (const std::string& assumption :
       model::PassAssumptions(subject.target().graph(), subject.pass)) {
    proto.add_assumptions(assumption);
  }
  const auto& overlap = subject.target().spec().overlap;
  if (overlap.has_value()) {
    std::string reason = model::NoOverlapReason(subject.target().setup(),
                                                subject.pass, overlap->kind);
    if (reason.empty() && overlap->kind == model::Overlap::Kind::kGemm &&
        estimate.phase.hidden == model::Seconds::Zero()) {
      reason = "collectives in chunks would be slower than whole ones";
    }
    if (!reason.empty()) {
      proto.add_warnings(absl::StrCat("nothing overlaps: ", reason));
    }
  }
}

}  // namespace mansard::server
