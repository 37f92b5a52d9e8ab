// The data files compiled into the binary, in the wire format.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace mansard::model {

struct EmbeddedFile {
  absl::string_view id;    // File name without extension.
  absl::string_view wire;  // The message that the file is the text of.
};

const std::vector<EmbeddedFile>& EmbeddedModels();
const std::vector<EmbeddedFile>& EmbeddedFabrics();
const std::vector<EmbeddedFile>& EmbeddedHardware();
// Of one hardware profile's calibrated stacks each.
const std::vector<EmbeddedFile>& EmbeddedStacks();
// Likewise, on top of those: of engines as they serve.
const std::vector<EmbeddedFile>& EmbeddedServed();

}  // namespace mansard::model
