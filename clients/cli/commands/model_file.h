// Models and hardware that a user brings as a file.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/session.h"
#include "mansard/v1/catalog_service.pb.h"

namespace mansard::cli {

// A graph from a config.json (read by the service), its folder, or a graph in
// textproto or proto JSON, as `model get|import` print it. Only a config.json
// has assumptions and ignored keys.
absl::StatusOr<v1::ImportHuggingFaceConfigResponse> LoadModelFile(
    const Session& session, const std::string& path);

// Reads a config.json and has the service interpret it.
absl::StatusOr<v1::ImportHuggingFaceConfigResponse> ImportConfig(
    const Session& session, const std::string& path);

// A profile in textproto or proto JSON, as `hardware get` prints it.
absl::StatusOr<v1::HardwareProfile> LoadHardwareFile(const std::string& path);

// From the catalog, by id or whole name.
absl::StatusOr<v1::ModelGraph> GetModelGraph(const Session& session,
                                             const std::string& id);

// Drops what only the service fills in, leaving a data file.
void ClearOutputOnly(v1::ModelGraph* graph);
void ClearOutputOnly(v1::HardwareProfile* profile);

}  // namespace mansard::cli
