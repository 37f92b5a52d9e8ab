// The models, fabrics and devices that come with the binary.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/graph/model_graph.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/embedded.h"
#include "model/io/profile_io.h"

namespace mansard::model {

struct ShippedData {
  std::map<std::string, std::shared_ptr<const ModelGraph>> graphs;
  std::map<std::string, std::shared_ptr<const HardwareProfile>> profiles;
  FabricMap fabrics;
};

// Parses and checks every embedded file; an error names the file and every
// broken rule. Fails only if the binary was built from broken data.
absl::StatusOr<ShippedData> LoadShippedData();

// The same for any set of files.
absl::StatusOr<ShippedData> LoadData(const std::vector<EmbeddedFile>& fabrics,
                                     const std::vector<EmbeddedFile>& hardware,
                                     const std::vector<EmbeddedFile>& models);

}  // namespace mansard::model
