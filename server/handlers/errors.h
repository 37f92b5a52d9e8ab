// What can be wrong with an estimate or an import beyond its fields.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/estimate/estimate.h"
#include "model/estimate/remedies.h"
#include "model/workload/layout.h"

namespace mansard::server {

// For a FAILED_PRECONDITION of model::Target::Create: PRECISION_UNSUPPORTED, or
// COLLECTIVE_UNSUPPORTED where the formats are fine and the kernel stack cannot
// price collectives over the link that the devices share.
absl::Status TargetUnsupported(const absl::Status& error,
                               const model::TargetSpec& spec);
// FAILED_PRECONDITION with the reason of that name; `error` has the message.
absl::Status PrecisionUnsupported(const absl::Status& error,
                                  model::Format activations,
                                  const model::HardwareProfile& hardware);
absl::Status CollectiveUnsupported(const absl::Status& error,
                                   model::LinkTier tier,
                                   const model::KernelStack& stack,
                                   const model::HardwareProfile& hardware);
// FAILED_PRECONDITION MODEL_DOES_NOT_FIT. Metadata: bytes of a rank, and each
// change that alone would make it fit ("minimum_tensor_size", "weights",
// "kv_cache", "maximum_context_token_count", "maximum_request_count").
absl::Status ModelDoesNotFit(const model::MemoryFootprint& memory,
                             const std::vector<model::Remedy>& remedies);
// INVALID_ARGUMENT ARCHITECTURE_UNSUPPORTED. `message` names the closest.
absl::Status ArchitectureUnsupported(absl::string_view architecture,
                                     absl::string_view message);
// RESOURCE_EXHAUSTED RESPONSE_TOO_LARGE.
absl::Status ResponseTooLarge(size_t max_bytes);

}  // namespace mansard::server
