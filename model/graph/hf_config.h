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

// Largest texts accepted.
inline constexpr size_t kMaxConfigBytes = 1'000'000;
inline constexpr size_t kMaxQuantizationBytes = 2'000'000;
inline constexpr size_t kMaxIndexBytes = 1'000'000;

// Texts of files that stand beside a config.json; empty: there is none.
struct HfSideFiles {
  absl::string_view quantization;  // hf_quant_config.json, as ModelOpt has it.
  // model.safetensors.index.json; its weight_map may be left out.
  absl::string_view safetensors_index;
};

// Reads files of the classes in hf_families_*.cc, by `architectures`,
// `model_type` and keys, not by file names; of a model with other parts, the
// text decoder. Accepts bare Infinity and NaN; bounds size and nesting. Errors,
// all INVALID_ARGUMENT: not JSON (with the offset); an architecture that is not
// supported, with payload kUnsupportedArchitecture and the closest known one in
// the message; keys that are missing, of the wrong type, that contradict each
// other, or that change cost in a way this version does not model (all of
// them, in `violations`).
// A safetensors index is compared with the graph's weights: what it has more is
// other_weight_bytes; a difference of more than 1 % is noted.
absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       Violations& violations);
absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       const HfSideFiles& side,
                                                       Violations& violations);

// Every architecture in the table, for error details.
std::vector<std::string> SupportedArchitectures();

}  // namespace mansard::model
