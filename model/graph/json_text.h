// JSON text of unknown origin: its limits, and how it is shown.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mansard::model {

struct JsonLimits {
  size_t max_bytes;
  int max_depth;    // Of objects and lists, the outermost included.
  size_t max_keys;  // Of an object that is read, repeated ones included.
};

// The errors of JsonObject::Parse that can be told without a document.
absl::Status CheckJsonText(absl::string_view text, absl::string_view name,
                           const JsonLimits& limits);

// Text of unknown origin for a message: control characters escaped, cut to
// about `max_bytes` at a character's end.
std::string Printable(absl::string_view text, size_t max_bytes = 64);

}  // namespace mansard::model
