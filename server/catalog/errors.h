// What can be wrong with what the catalog holds. Things that are missing are
// NOT_FOUND, name the closest ids, and carry ResourceInfo.
#pragma once

#include <cstdint>
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

// ENGINE_NOT_FOUND.
absl::Status EngineNotFound(absl::string_view id,
                            const std::vector<std::string>& known);
// CALIBRATION_NOT_FOUND; `name` is its whole name.
absl::Status CalibrationNotFound(absl::string_view name);
// REVISION_NOT_FOUND, of a resource that is there; `name` is without "@".
absl::Status RevisionNotFound(absl::string_view name,
                              absl::string_view revision_id);

// What writes run into, beside missing things. `type` is the resource's, such
// as "mansard.v1.Engine".
//
// ALREADY_EXISTS RESOURCE_ALREADY_EXISTS.
absl::Status AlreadyExists(absl::string_view type, absl::string_view name);
// ABORTED ETAG_MISMATCH, with the current one in metadata "etag"; OK where
// `given` is empty or the current one.
absl::Status CheckEtag(absl::string_view given, absl::string_view current,
                       absl::string_view type, absl::string_view name);
// FAILED_PRECONDITION RESOURCE_READ_ONLY: nothing is stored above what comes
// with the server.
absl::Status ReadOnly(absl::string_view type, absl::string_view name);
// FAILED_PRECONDITION RESOURCE_IN_USE, with a PreconditionFailure each.
absl::Status InUse(absl::string_view type, absl::string_view name,
                   const std::vector<std::string>& engines);
// FAILED_PRECONDITION ENGINES_WOULD_BREAK: engines that could not be resolved
// any more, and why the first.
absl::Status EnginesWouldBreak(const std::vector<std::string>& engines,
                               const absl::Status& first);
// FAILED_PRECONDITION CATALOG_FULL. `what`: "engines".
absl::Status CatalogFull(absl::string_view what, int64_t limit);
// FAILED_PRECONDITION RESOURCE_BROKEN: stored, and unreadable for this version.
absl::Status Broken(absl::string_view name, const absl::Status& error);
// FAILED_PRECONDITION ENGINE_BROKEN.
absl::Status EngineBroken(absl::string_view name, const absl::Status& error);

}  // namespace mansard::server
