// The resources of a catalog, for commands that are alike for all of them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/session.h"
#include "mansard/v1/calibration_service.pb.h"
#include "mansard/v1/engine.pb.h"

namespace mansard::cli {

void ClearOutputOnly(v1::Engine* engine);
void ClearOutputOnly(v1::Calibration* calibration);

// "hardwareProfiles/x/calibrations/y" for "x/y"; a whole name stays.
std::string CalibrationName(const std::string& id);

// Each kind by its calls. Errors are ready to be shown.
struct ModelResource {
  using Proto = v1::ModelGraph;
  static constexpr const char* kNoun = "model";
  static std::string Name(const std::string& id) {
    return FullName("modelGraphs", id);
  }
  static absl::StatusOr<Proto> Get(const Session& session,
                                   const std::string& name);
  static absl::StatusOr<Proto> Apply(const Session& session, const Proto& said,
                                     bool dry_run);
  static absl::Status Delete(const Session& session, const std::string& name,
                             const std::string& etag);
};
struct HardwareResource {
  using Proto = v1::HardwareProfile;
  static constexpr const char* kNoun = "hardware";
  static std::string Name(const std::string& id) {
    return FullName("hardwareProfiles", id);
  }
  static absl::StatusOr<Proto> Get(const Session& session,
                                   const std::string& name);
  static absl::StatusOr<Proto> Apply(const Session& session, const Proto& said,
                                     bool dry_run);
  static absl::Status Delete(const Session& session, const std::string& name,
                             const std::string& etag);
};
struct EngineResource {
  using Proto = v1::Engine;
  static constexpr const char* kNoun = "engine";
  static std::string Name(const std::string& id) {
    return FullName("engines", id);
  }
  static absl::StatusOr<Proto> Get(const Session& session,
                                   const std::string& name);
  static absl::StatusOr<Proto> Apply(const Session& session, const Proto& said,
                                     bool dry_run);
  static absl::Status Delete(const Session& session, const std::string& name,
                             const std::string& etag);
};
// Calibrations never change: there is no Apply of one.
struct CalibrationResource {
  using Proto = v1::Calibration;
  static constexpr const char* kNoun = "calibration";
  static std::string Name(const std::string& id) { return CalibrationName(id); }
  static absl::StatusOr<Proto> Get(const Session& session,
                                   const std::string& name);
  static absl::Status Delete(const Session& session, const std::string& name,
                             const std::string& etag);
};

// A file of the message in textproto or proto JSON; of a model also a
// config.json or its folder. All that it says is there, name and etag too.
absl::StatusOr<v1::ModelGraph> LoadFile(const Session& session,
                                        const std::string& path,
                                        v1::ModelGraph*);
absl::StatusOr<v1::HardwareProfile> LoadFile(const Session& session,
                                             const std::string& path,
                                             v1::HardwareProfile*);
absl::StatusOr<v1::Engine> LoadFile(const Session& session,
                                    const std::string& path, v1::Engine*);
absl::StatusOr<v1::Calibration> LoadFile(const Session& session,
                                         const std::string& path,
                                         v1::Calibration*);

}  // namespace mansard::cli
