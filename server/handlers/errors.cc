#include "server/handlers/errors.h"

#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/base/format.h"
#include "model/graph/hf_config.h"
#include "server/error.h"

namespace mansard::server {
namespace {

std::string WholeBytes(model::Bytes bytes) {
  return absl::StrCat(std::llround(bytes.value()));
}

std::string NameOf(const model::HardwareProfile& hardware) {
  return hardware.id().empty() ? "inline" : hardware.id();
}

// The tier without a collective family; empty where formats are the trouble.
std::optional<model::LinkTier> TierWithoutCollectives(
    const model::TargetSpec& spec, model::Format weights,
    model::Format activations) {
  const auto compute = spec.hardware->device().ComputeFor(weights, activations);
  if (!compute.has_value() || spec.stack->GemmFor(compute->format) == nullptr) {
    return std::nullopt;
  }
  model::Violations violations;
  const auto layout = model::Layout::Create(spec.parallelism, *spec.graph,
                                            *spec.fabric, violations);
  if (!layout.has_value()) return std::nullopt;
  std::vector<model::LinkTier> tiers = layout->Tiers();
  if (spec.kv_send.has_value()) tiers.push_back(spec.kv_send->tier);
  for (model::LinkTier tier : tiers) {
    if (!spec.stack->spec()
             .collectives[static_cast<size_t>(tier)]
             .has_value()) {
      return tier;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status PrecisionUnsupported(const absl::Status& error,
                                  model::Format activations,
                                  const model::HardwareProfile& hardware) {
  return ErrorBuilder(absl::StatusCode::kFailedPrecondition,
                      "PRECISION_UNSUPPORTED")
      .Message(error.message())
      .Metadata("precision", model::TraitsOf(activations).name)
      .Metadata("hardware", NameOf(hardware))
      .Metadata("supported", hardware.device().TensorFormatNames())
      .Build();
}

absl::Status CollectiveUnsupported(const absl::Status& error,
                                   model::LinkTier tier,
                                   const model::KernelStack& stack,
                                   const model::HardwareProfile& hardware) {
  return ErrorBuilder(absl::StatusCode::kFailedPrecondition,
                      "COLLECTIVE_UNSUPPORTED")
      .Message(error.message())
      .Metadata("tier", model::LinkTierName(tier))
      .Metadata("kernel_stack", stack.spec().id)
      .Metadata("hardware", NameOf(hardware))
      .Build();
}

absl::Status TargetUnsupported(const absl::Status& error,
                               const model::TargetSpec& spec) {
  const model::Precision& own = spec.graph->spec().native_precision;
  const model::Format weights = spec.weights.value_or(own.weights);
  const model::Format activations = spec.activations.value_or(own.activations);
  if (const auto tier = TierWithoutCollectives(spec, weights, activations)) {
    return CollectiveUnsupported(error, *tier, *spec.stack, *spec.hardware);
  }
  return PrecisionUnsupported(error, activations, *spec.hardware);
}

absl::Status ModelDoesNotFit(const model::MemoryFootprint& memory,
                             const std::vector<model::Remedy>& remedies) {
  ErrorBuilder error(absl::StatusCode::kFailedPrecondition,
                     "MODEL_DOES_NOT_FIT");
  error
      .Message(absl::StrFormat(
          "Weights, cache and reserve need %.1f GB a device; the engine uses "
          "%.1f GB of its %.1f GB",
          model::ToGigabytes(memory.needed()),
          model::ToGigabytes(memory.budget),
          model::ToGigabytes(memory.capacity)))
      .Metadata("required_bytes", WholeBytes(memory.needed()))
      .Metadata("available_bytes", WholeBytes(memory.budget))
      .Metadata("capacity_bytes", WholeBytes(memory.capacity));
  for (const model::Remedy& remedy : remedies) {
    switch (remedy.kind) {
      case model::RemedyKind::kTensorSize:
      case model::RemedyKind::kPipelineSize:
      case model::RemedyKind::kDataSize:
        error.Metadata(
            absl::StrCat("minimum_", model::RemedyKindName(remedy.kind)),
            absl::StrCat(remedy.number));
        break;
      case model::RemedyKind::kWeights:
      case model::RemedyKind::kKvCache:
        error.Metadata(model::RemedyKindName(remedy.kind),
                       model::TraitsOf(remedy.format).name);
        break;
      case model::RemedyKind::kContext:
      case model::RemedyKind::kRequestCount:
        error.Metadata(
            absl::StrCat("maximum_", model::RemedyKindName(remedy.kind)),
            absl::StrCat(remedy.number));
        break;
    }
  }
  return error.Build();
}

absl::Status ArchitectureUnsupported(absl::string_view architecture,
                                     absl::string_view message) {
  return ErrorBuilder(absl::StatusCode::kInvalidArgument,
                      "ARCHITECTURE_UNSUPPORTED")
      .Message(message)
      .Metadata("architecture", architecture)
      .Metadata("supported",
                absl::StrJoin(model::SupportedArchitectures(), ", "))
      .Build();
}

absl::Status ResponseTooLarge(size_t max_bytes) {
  return ErrorBuilder(absl::StatusCode::kResourceExhausted,
                      "RESPONSE_TOO_LARGE")
      .Message(absl::StrCat(
          "The answer would be larger than ", max_bytes,
          " bytes; ask for fewer requests or for fewer parts by read_mask"))
      .Metadata("max_bytes", absl::StrCat(max_bytes))
      .Build();
}

}  // namespace mansard::server
