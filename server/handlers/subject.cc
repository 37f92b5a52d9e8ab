#include "server/handlers/subject.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/estimate/assumptions.h"
#include "model/io/graph_io.h"
#include "model/io/revision.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/convert/workload.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/handlers/hardware_choice.h"
#include "server/version.h"

namespace mansard::server {
namespace {

// A graph whose longest context is not known bounds nothing.
constexpr int64_t kNoContextLimit = int64_t{1} << 62;

absl::StatusOr<Found<model::ModelGraph>> FindGraph(
    const Snapshot& snapshot, const v1::Target& target,
    model::Violations& violations) {
  Found<model::ModelGraph> found;
  switch (target.model_case()) {
    case v1::Target::kModelGraph: {
      const auto id = ParseResourceName(target.model_graph(), kModelGraphs,
                                        "model_graph", violations);
      if (!id.has_value()) return found;
      ASSIGN_OR_RETURN(const GraphEntry* entry, snapshot.FindGraph(*id));
      found.value = entry->graph;
      found.revision = absl::StrCat(ResourceName(kModelGraphs, *id), "@",
                                    entry->proto.revision_id());
      return found;
    }
    case v1::Target::kInlineModelGraph: {
      const model::Violations::Scope scope(violations, "inline_model_graph");
      std::optional<model::ModelGraph> graph =
          model::GraphFromProto(target.inline_model_graph(), "", violations);
      if (!graph.has_value()) return found;
      found.revision =
          absl::StrCat("inline@", model::GraphToProto(*graph).revision_id());
      found.value =
          std::make_shared<const model::ModelGraph>(*std::move(graph));
      return found;
    }
    case v1::Target::MODEL_NOT_SET:
      violations.Add("model_graph",
                     "is required: modelGraphs/{id}, or inline_model_graph");
      return found;
  }
  return found;
}

void TakeOptions(const v1::Target& target, model::TargetSpec& spec,
                 model::Violations& violations) {
  spec.parallelism = FromProto(target.parallelism());
  TakeFormats(target.precision(), spec, violations);
  if (target.has_kv_head_count()) spec.kv_heads = target.kv_head_count();
  spec.unfused_attention = target.unfused_attention();
}

struct ResolvedTarget {
  // Empty where a rule is broken or something is not found.
  std::optional<model::Target> target;
  GraphFacts graph = {.max_context = kNoContextLimit,
                      .experts = std::nullopt,
                      .draft_modules = std::nullopt,
                      .cross_attention = std::nullopt};
  std::string model_graph_revision;
  std::string hardware_profile_revision;
  // The first thing that is not found or not supported.
  absl::Status error;
};

ResolvedTarget ResolveTarget(const Snapshot& snapshot, const v1::Target& target,
                             model::Violations& violations) {
  ResolvedTarget resolved;
  const auto fail = [&resolved](const absl::Status& error) {
    if (resolved.error.ok()) resolved.error = error;
  };
  model::TargetSpec spec;
  auto graph = FindGraph(snapshot, target, violations);
  auto profile = FindProfile(snapshot, target, violations);
  TakeOptions(target, spec, violations);
  if (graph.ok()) {
    spec.graph = graph->value;
    resolved.model_graph_revision = graph->revision;
    if (spec.graph) {
      resolved.graph = {
          .max_context = spec.graph->spec().max_context,
          .experts = spec.graph->ExpertCount(),
          .draft_modules = spec.graph->spec().mtp.modules,
          .cross_attention = model::AttendsToEncoder(*spec.graph)};
    }
  } else {
    fail(graph.status());
  }
  if (profile.ok()) {
    spec.hardware = profile->value;
    resolved.hardware_profile_revision = profile->revision;
    if (spec.hardware) fail(FindParts(target, spec));
  } else {
    fail(profile.status());
  }
  if (!spec.graph || !spec.hardware || !resolved.error.ok()) return resolved;
  absl::StatusOr<model::Target> created =
      model::Target::Create(spec, violations);
  if (created.ok()) {
    resolved.target = *std::move(created);
  } else if (created.status().code() == absl::StatusCode::kFailedPrecondition) {
    fail(TargetUnsupported(created.status(), spec));
  } else {
    fail(created.status());
  }
  return resolved;
}

// Over everything that the numbers depend on; graph and profile by the
// revisions, which are hashes of their content.
std::string HashOf(const model::Target& target, const model::ForwardPass& pass,
                   const ResolvedTarget& resolved) {
  const model::Precision& precision = target.formats().precision;
  std::string text = absl::StrCat(
      resolved.model_graph_revision, "\n", resolved.hardware_profile_revision,
      "\n", target.view().stack.spec().id, "\n", target.view().fabric.spec().id,
      "\ntensor ", target.layout().tensor(), "\n",
      model::TraitsOf(precision.weights).name, " ",
      model::TraitsOf(precision.activations).name, " ",
      model::TraitsOf(precision.kv_cache).name, " ",
      model::TraitsOf(precision.state).name, "\nkv heads");
  for (const model::LayerKind& kind : target.graph().spec().layer_kinds) {
    if (!kind.attention.has_value()) continue;
    if (const auto* grouped =
            std::get_if<model::GroupedQueryAttention>(&*kind.attention)) {
      absl::StrAppend(&text, " ", grouped->kv_heads);
    }
  }
  absl::StrAppend(&text, "\nfused ", target.fusion().attention, "\nrouting ",
                  static_cast<int>(pass.routing().kind));
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
  return model::ContentHash(text);
}

void AddWarnings(const model::Estimate& estimate, v1::Resolution& proto) {
  int extrapolated = 0;
  for (const model::OpTime& time : estimate.times) {
    if (time.extrapolated) ++extrapolated;
  }
  if (extrapolated > 0) {
    proto.add_warnings(absl::StrCat(
        extrapolated, " of ", estimate.times.size(),
        " ops lie outside the range that their kernel family was fitted on"));
  }
  if (!estimate.memory.fits) {
    proto.add_warnings(absl::StrFormat(
        "does not fit: weights and cache need %.1f GB a device, which has "
        "%.1f GB",
        model::ToGigabytes(estimate.memory.needed()),
        model::ToGigabytes(estimate.memory.capacity)));
  }
}

}  // namespace

absl::StatusOr<Subject> Resolve(const Snapshot& snapshot,
                                const v1::EstimateRequest& request,
                                model::Violations& violations) {
  ResolvedTarget resolved;
  if (request.has_target()) {
    const model::Violations::Scope scope(violations, "target");
    resolved = ResolveTarget(snapshot, request.target(), violations);
  } else {
    violations.Add("target", "is required");
  }
  std::optional<model::ForwardPass> pass;
  if (request.has_forward_pass()) {
    const model::Violations::Scope scope(violations, "forward_pass");
    pass = FromProto(request.forward_pass(), resolved.graph, violations);
  } else {
    violations.Add("forward_pass", "is required");
  }
  EstimateParts parts;
  {
    const model::Violations::Scope scope(violations, "read_mask");
    parts = FromProto(request.read_mask(), violations);
  }
  if (!violations.empty()) return absl::InvalidArgumentError("broken rules");
  RETURN_IF_ERROR(resolved.error);
  std::string hash = HashOf(*resolved.target, *pass, resolved);
  return Subject{*std::move(resolved.target),
                 *std::move(pass),
                 parts,
                 std::move(resolved.model_graph_revision),
                 std::move(resolved.hardware_profile_revision),
                 std::move(hash)};
}

void ToProto(const Subject& subject, const model::Estimate& estimate,
             v1::Resolution& proto) {
  const model::Target& target = subject.target;
  proto.set_model_graph_revision(subject.model_graph_revision);
  proto.set_hardware_profile_revision(subject.hardware_profile_revision);
  proto.set_kernel_stack(target.view().stack.spec().id);
  proto.set_fabric(target.view().fabric.spec().id);
  proto.set_content_hash(subject.content_hash);
  proto.set_server_version(kVersion);
  for (const std::string& warning : target.warnings()) {
    proto.add_warnings(warning);
  }
  AddWarnings(estimate, proto);
  for (const std::string& assumption : target.assumptions()) {
    proto.add_assumptions(assumption);
  }
  for (const std::string& assumption :
       model::PassAssumptions(target.graph(), subject.pass)) {
    proto.add_assumptions(assumption);
  }
}

}  // namespace mansard::server
