// Where in a config.json the decoder stands, and which family it is of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/graph/hf_families.h"
#include "model/graph/json_object.h"

namespace mansard::model {

struct HfDecoder {
  JsonObject object;
  std::vector<JsonObject> around;  // Innermost first; empty: the whole file.
  const HfFamily* family;
  std::string architecture;  // As the file says it, or the family's first.
  std::vector<std::string> assumptions;
};

// The text part of a model with other parts (`text_config` and the like), else
// the whole file. The family is the one of the innermost `architectures` or
// `model_type` that a row knows, `architectures` before `model_type` of the
// same object. INVALID_ARGUMENT with payload kUnsupportedArchitecture where
// none is known, or where `architectures` of the decoder's own object is not.
// Nothing, with violations, where names cannot be read.
absl::StatusOr<std::optional<HfDecoder>> FindDecoder(JsonObject file,
                                                     Violations& violations);

// Payload URL whose content is the architecture's name.
inline constexpr absl::string_view kUnsupportedArchitecture =
    "mansard/unsupported_architecture";

// Longest name taken over from a file.
inline constexpr size_t kMaxHfNameBytes = 128;

}  // namespace mansard::model
