// Hugging Face config.json -> ModelGraph.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/graph/hf_decoder.h"
#include "model/graph/model_graph.h"

namespace mansard::model {

struct ImportedConfig {
  ModelGraph graph;
  // Keys that cannot change cost, sorted.
  std::vector<std::string> ignored_keys;
  // What the file leaves out and the class default fills in, what of it is not
  // counted, and which of two values holds.
  std::vector<std::string> assumptions;
};

// Largest text accepted.
inline constexpr size_t kMaxConfigBytes = 1'000'000;

// Reads files of the classes in hf_families_*.cc, by `architectures`,
// `model_type` and keys, not by file names; of a model with other parts, the
// text decoder. Accepts bare Infinity and NaN; bounds size and nesting. Errors,
// all INVALID_ARGUMENT: not JSON (with the offset); an architecture that is not
// supported, with payload kUnsupportedArchitecture and the closest known one in
// the message; keys that are missing, of the wrong type, that contradict each
// other, or that change cost in a way this version does not model (all of
// them, in `violations`).
absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       Violations& violations);

// Every architecture in the table, for error details.
std::vector<std::string> SupportedArchitectures();

}  // namespace mansard::model
