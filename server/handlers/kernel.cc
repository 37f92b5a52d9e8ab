#include "server/handlers/kernel.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/estimate/kernel_collective.h"
#include "model/estimate/kernel_ops.h"
#include "model/io/revision.h"
#include "model/price/extrapolation.h"
#include "server/convert/kernel.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/handlers/hardware_choice.h"
#include "server/version.h"

namespace mansard::server {
namespace {

// What a target has and a kernel does not.
void RefuseModelFields(const v1::EstimateKernelRequest& request,
                       model::Violations& violations) {
  const v1::Target& target = request.target();
  if (target.model_case() != v1::Target::MODEL_NOT_SET) {
    violations.Add(
        target.has_model_graph() ? "model_graph" : "inline_model_graph",
        "is set; a kernel belongs to no model");
  }
  if (target.has_kv_transfer()) {
    violations.Add("kv_transfer", "is set; a kernel caches nothing");
  }
  if (target.has_kv_head_count()) {
    violations.Add("kv_head_count",
                   "is set; the kernel's attention says its own");
  }
  const std::pair<const char*, bool> of_steps[] = {
      {"residual_into_norm", target.has_residual_into_norm()},
      {"cuda_graphs", target.has_cuda_graphs()},
      {"all_reduce_algorithm", !target.all_reduce_algorithm().empty()},
      {"overlap", target.has_overlap()}};
  for (const auto& [field, is_set] : of_steps) {
    if (is_set) violations.Add(field, "is set; a kernel is no step");
  }
  const v1::Parallelism& parallelism = target.parallelism();
  const std::pair<const char*, int> sizes[] = {
      {"tensor_size", request.has_collective() ? 0 : parallelism.tensor_size()},
      {"pipeline_size", parallelism.pipeline_size()},
      {"expert_size", parallelism.expert_size()},
      {"data_size", parallelism.data_size()},
      {"moe_tensor_size", parallelism.moe_tensor_size()},
      {"context_size", parallelism.context_size()},
      {"node_count", parallelism.node_count()},
      {"micro_batch_count", parallelism.micro_batch_count()}};
  for (const auto& [field, size] : sizes) {
    if (size == 0 || size == 1) continue;
    violations.Add(absl::StrCat("parallelism.", field),
                   absl::StrCat("is ", size,
                                "; a kernel is one rank's; tensor_size alone "
                                "counts, for collectives"));
  }
  if (target.precision().linear_precisions_size() > 0) {
    violations.Add("precision.linear_precisions",
                   "is set; a kernel is of no class, weights and activations "
                   "say its formats");
  }
  if (target.unfused_attention() && !request.has_attention()) {
    violations.Add("unfused_attention", "is set; allowed: for attention");
  }
}

// A kernel and the profile that it runs on.
struct Resolved {
  model::KernelSpec spec;
  std::string hardware_profile_revision;
};

// Looks up the hardware; what is not found is returned once no rule is broken.
absl::Status ResolveHardware(const Snapshot& snapshot, const v1::Target& target,
                             Resolved& resolved,
                             model::Violations& violations) {
  const model::Violations::Scope scope(violations, "target");
  model::TargetSpec spec;
  TakeFormats(target.precision(), spec, violations);
  resolved.spec.formats = {spec.weights, spec.activations, spec.kv_cache,
                           spec.state};
  resolved.spec.unfused_attention = target.unfused_attention();
  ASSIGN_OR_RETURN(const Found<model::HardwareProfile> profile,
                   FindProfile(snapshot, target, violations));
  if (profile.value == nullptr) return absl::OkStatus();
  spec.hardware = profile.value;
  RETURN_IF_ERROR(FindParts(target, spec));
  resolved.spec.hardware = spec.hardware;
  resolved.spec.fabric = spec.fabric;
  resolved.spec.stack = spec.stack;
  resolved.hardware_profile_revision = profile.revision;
  return absl::OkStatus();
}

absl::StatusOr<Resolved> Resolve(const Snapshot& snapshot,
                                 const v1::EstimateKernelRequest& request,
                                 model::Violations& violations) {
  Resolved resolved;
  absl::Status found;
  if (request.has_target()) {
    found = ResolveHardware(snapshot, request.target(), resolved, violations);
    const model::Violations::Scope scope(violations, "target");
    RefuseModelFields(request, violations);
  } else {
    violations.Add("target", "is required");
  }
  auto work = FromProto(request, violations);
  if (work.has_value()) {
    model::CheckKernel(*work, resolved.spec.fabric, violations);
    resolved.spec.work = *std::move(work);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(found);
  return resolved;
}

absl::Status Unsupported(const absl::Status& error,
                         const model::KernelSpec& spec) {
  if (const auto* collective =
          std::get_if<model::CollectiveKernel>(&spec.work)) {
    return CollectiveUnsupported(error,
                                 model::TierOf(*collective, *spec.fabric),
                                 *spec.stack, *spec.hardware);
  }
  return PrecisionUnsupported(
      error, spec.formats.activations.value_or(model::Format::kBf16),
      *spec.hardware);
}

// Over all that the numbers depend on; the profile by its revision.
std::string HashOf(const Resolved& resolved,
                   const model::KernelEstimate& kernel) {
  std::string text = absl::StrCat(resolved.hardware_profile_revision, "\n",
                                  resolved.spec.stack->spec().id, "\n",
                                  resolved.spec.fabric->spec().id);
  // What a shape's text leaves out of exchanges.
  if (const auto* collective =
          std::get_if<model::CollectiveKernel>(&resolved.spec.work)) {
    absl::StrAppend(&text, "\n", model::AlgorithmName(collective->algorithm));
    if (collective->exchanged.has_value()) {
      absl::StrAppend(&text, " ", collective->exchanged->experts, " ",
                      collective->exchanged->multiprocessors);
    }
  }
  for (const model::Op& op : kernel.ops) {
    const model::Work& work = op.work;
    absl::StrAppend(&text, "\n", model::OpKindName(op.kind), " ",
                    model::ShapeText(op));
    for (double value :
         {work.tensor.value(), work.vector.value(), work.special.value(),
          work.weights.value(), work.kv_read.value(), work.kv_write.value(),
          work.activations_in.value(), work.activations_out.value(),
          work.message.value()}) {
      absl::StrAppendFormat(&text, " %.17g", value);
    }
  }
  return model::ContentHash(text);
}

void FillResolution(const Resolved& resolved,
                    const model::KernelEstimate& kernel,
                    v1::Resolution& proto) {
  proto.set_hardware_profile_revision(resolved.hardware_profile_revision);
  proto.set_kernel_stack(resolved.spec.stack->spec().id);
  proto.set_fabric(resolved.spec.fabric->spec().id);
  proto.set_content_hash(HashOf(resolved, kernel));
  proto.set_server_version(kVersion);
  const std::string outside =
      model::ExtrapolationText(kernel.ops, kernel.times);
  if (!outside.empty()) proto.add_warnings(outside);
  for (const std::string& assumption : kernel.assumptions) {
    proto.add_assumptions(assumption);
  }
}

}  // namespace

absl::Status EstimateKernel(CallContext& call,
                            const v1::EstimateKernelRequest& request,
                            v1::EstimateKernelResponse& response) {
  model::Violations violations;
  ASSIGN_OR_RETURN(const Resolved resolved,
                   Resolve(call.snapshot(), request, violations));
  const absl::StatusOr<model::KernelEstimate> kernel =
      model::EstimateKernel(resolved.spec, violations);
  if (!violations.empty()) return InvalidRequest(violations);
  if (!kernel.ok()) return Unsupported(kernel.status(), resolved.spec);
  ToProto(*kernel, resolved.spec.hardware->device(), response);
  FillResolution(resolved, *kernel, *response.mutable_resolution());
  return absl::OkStatus();
}

}  // namespace mansard::server
