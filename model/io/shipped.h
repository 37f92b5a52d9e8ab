// Data files as domain objects: the models, fabrics and devices that come with
// the binary, and any further ones.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/graph/model_graph.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/profile_io.h"

namespace mansard::model {

struct ShippedData {
  std::map<std::string, std::shared_ptr<const ModelGraph>> graphs;
  std::map<std::string, std::shared_ptr<const HardwareProfile>> profiles;
  FabricMap fabrics;
};

// A textproto file as read. Its name without folder and ".textproto" is the id.
struct DataFile {
  std::string path;  // As messages show it.
  std::string text;
  bool wire = false;  // `text` is the file's message in the wire format.
};
struct DataFiles {
  std::vector<DataFile> fabrics;
  std::vector<DataFile> hardware;
  std::vector<DataFile> models;
  // Stacks of hardware in `hardware`, by its id: hardware profiles of
  // kernel_stacks alone.
  std::vector<DataFile> stacks = {};
  // The same, after `stacks`: of engines as they serve.
  std::vector<DataFile> served = {};
};

// Parses, checks and adds every file. FAILED_PRECONDITION, one line for each
// thing wrong in any file, with its path (and line and column where it does
// not parse): a broken rule, a name that is no id, an id that is there already.
absl::Status AddData(const DataFiles& files, ShippedData& data);

// The embedded files. Fails only if the binary was built from broken data.
absl::StatusOr<ShippedData> LoadShippedData();

}  // namespace mansard::model
