// A revision of a profile, or of a kernel stack, as a file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"

namespace mansard::calibrate {

inline constexpr int64_t kMaxRevisionBytes = int64_t{16} << 20;

// The text of a mansard.v1.HardwareProfile, or of a mansard.v1.KernelStack
// where a line "# proto-message: mansard.v1.KernelStack" says so: then as a
// profile of that stack alone. Error: INVALID_ARGUMENT with line and column.
absl::StatusOr<v1::HardwareProfile> ParseRevision(absl::string_view text);

// The same of a file. Error: NOT_FOUND where it cannot be read,
// RESOURCE_EXHAUSTED above the limit; all with the path.
absl::StatusOr<v1::HardwareProfile> ReadRevision(const std::string& path);

}  // namespace mansard::calibrate
