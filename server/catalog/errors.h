// What can be missing from the catalog. Each error is NOT_FOUND, names the
// closest ids, and carries ResourceInfo.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mansard::server {

// MODEL_GRAPH_NOT_FOUND.
absl::Status ModelGraphNotFound(absl::string_view id,
                                const std::vector<std::string>& known);
// HARDWARE_PROFILE_NOT_FOUND.
absl::Status HardwareProfileNotFound(absl::string_view id,
                                     const std::vector<std::string>& known);
// KERNEL_STACK_NOT_FOUND; `known` are the profile's.
absl::Status KernelStackNotFound(absl::string_view id,
                                 const std::vector<std::string>& known);
// FABRIC_NOT_FOUND; `known` are the profile's.
absl::Status FabricNotFound(absl::string_view id,
                            const std::vector<std::string>& known);

}  // namespace mansard::server
