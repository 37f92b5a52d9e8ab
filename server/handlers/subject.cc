#include "server/handlers/subject.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/io/graph_io.h"
#include "model/io/profile_io.h"
#include "model/io/revision.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/convert/workload.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/version.h"

namespace mansard::server {
namespace {

// A graph whose longest context is not known bounds nothing.
constexpr int64_t kNoContextLimit = int64_t{1} << 62;

// A graph or profile with the revision to show. `value` is null where the
// request breaks a rule.
template <class T>
struct Found {
  std::shared_ptr<const T> value;
  std::string revision;
};

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

absl::StatusOr<Found<model::HardwareProfile>> FindProfile(
    const Snapshot& snapshot, const v1::Target& target,
    model::Violations& violations) {
  Found<model::HardwareProfile> found;
  switch (target.hardware_case()) {
    case v1::Target::kHardwareProfile: {
      const auto id =
          ParseResourceName(target.hardware_profile(), kHardwareProfiles,
                            "hardware_profile", violations);
      if (!id.has_value()) return found;
      ASSIGN_OR_RETURN(const ProfileEntry* entry, snapshot.FindProfile(*id));
      found.value = entry->profile;
      found.revision = absl::StrCat(ResourceName(kHardwareProfiles, *id), "@",
                                    entry->proto.revision_id());
      return found;
    }
    case v1::Target::kInlineHardwareProfile: {
      const model::Violations::Scope scope(violations,
                                           "inline_hardware_profile");
      std::optional<model::HardwareProfile> profile = model::ProfileFromProto(
          target.inline_hardware_profile(), "", snapshot.fabrics(), violations);
      if (!profile.has_value()) return found;
      found.revision = absl::StrCat(
          "inline@", model::ProfileToProto(*profile).revision_id());
      found.value =
          std::make_shared<const model::HardwareProfile>(*std::move(profile));
      return found;
    }
    case v1::Target::HARDWARE_NOT_SET:
      violations.Add(
          "hardware_profile",
          "is required: hardwareProfiles/{id}, or inline_hardware_profile");
      return found;
  }
  return found;
}

// The stack and the fabric of the profile that the target names.
absl::Status FindParts(const v1::Target& target, model::TargetSpec& spec) {
  spec.stack = spec.hardware->FindStack(target.kernel_stack());
  if (spec.stack == nullptr) {
    std::vector<std::string> known;
    for (const model::KernelStack& stack : spec.hardware->stacks()) {
      known.push_back(stack.spec().id);
    }
    return KernelStackNotFound(target.kernel_stack(), known);
  }
  spec.fabric = spec.hardware->FindFabric(target.fabric());
  if (spec.fabric == nullptr) {
    std::vector<std::string> known;
    for (const model::Fabric& fabric : spec.hardware->fabrics()) {
      known.push_back(fabric.spec().id);
    }
    return FabricNotFound(target.fabric(), known);
  }
  return absl::OkStatus();
}

void TakeOptions(const v1::Target& target, model::TargetSpec& spec,
                 model::Violations& violations) {
  spec.parallelism = FromProto(target.parallelism());
  const v1::Precision& precision = target.precision();
  spec.weights = model::FormatFromProto(precision.weights(),
                                        "precision.weights", violations);
  spec.activations = model::FormatFromProto(
      precision.activations(), "precision.activations", violations);
  spec.kv_cache = model::FormatFromProto(precision.kv_cache(),
                                         "precision.kv_cache", violations);
  if (target.has_kv_head_count()) spec.kv_heads = target.kv_head_count();
}

struct ResolvedTarget {
  // Empty where a rule is broken or something is not found.
  std::optional<model::Target> target;
  int64_t max_context = kNoContextLimit;
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
    if (spec.graph) resolved.max_context = spec.graph->spec().max_context;
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
      model::TraitsOf(precision.kv_cache).name, "\nkv heads");
  for (const model::LayerKind& kind : target.graph().spec().layer_kinds) {
    absl::StrAppend(&text, " ", kind.attention.kv_heads);
  }
  for (const model::RequestGroup& group : pass.groups()) {
    absl::StrAppend(
        &text, "\n", group.role == model::Role::kPrefill ? "p" : "d", " ",
        group.request_count, " ", group.new_tokens, " ", group.prior_tokens);
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
        "does not fit: weights and KV cache need %.1f GB a device, which has "
        "%.1f GB",
        model::ToGigabytes(estimate.memory.weights + estimate.memory.kv_cache),
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
    pass = FromProto(request.forward_pass(), resolved.max_context, violations);
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
}

}  // namespace mansard::server
