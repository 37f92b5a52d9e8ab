// Files that a user names.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::cli {

// Largest config.json that the service takes.
inline constexpr int64_t kMaxConfigBytes = 1'000'000;
// Largest data file read.
inline constexpr int64_t kMaxDataFileBytes = 4'000'000;

// Whether a --model or --hardware value is a file rather than an id: "-", a
// path that exists, or a name that ends in .json or .textproto.
bool NamesFile(const std::string& value);

// A whole file; "-" is standard input; a folder is its config.json. Fails with
// the path and the reason when it cannot be read or is larger than `max_bytes`.
absl::StatusOr<std::string> ReadInput(const std::string& path,
                                      int64_t max_bytes);

// Whether text is JSON by its first character; textproto otherwise.
bool LooksLikeJson(absl::string_view text);

}  // namespace mansard::cli
