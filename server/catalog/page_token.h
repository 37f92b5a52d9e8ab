// Where the next page of a list starts, as callers carry it. Opaque to them; a
// token that this server did not make for this list is refused.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::server {

// Base64url of {fingerprint of the list and the key, key}. The page size is
// not part of it: a caller may change it between pages.
std::string MakePageToken(absl::string_view list, absl::string_view last_key);

// The last key of the page before. Empty: not a token of `list`.
std::optional<std::string> ReadPageToken(absl::string_view token,
                                         absl::string_view list);

}  // namespace mansard::server
