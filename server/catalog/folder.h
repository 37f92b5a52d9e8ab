// A folder of further catalog files: models/, hardware/ and fabrics/, each
// with *.textproto files whose name is the id.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "model/io/shipped.h"

namespace mansard::server {

// Adds the folder's files to `data`. FAILED_PRECONDITION, naming every broken
// file with its broken rules, when a file does not parse or breaks a rule, its
// name is no id, or the id is there already (a shipped one cannot be replaced);
// NOT_FOUND when there is no such folder. A subfolder may be absent.
absl::Status MergeFolder(const std::string& folder, model::ShippedData& data);

}  // namespace mansard::server
