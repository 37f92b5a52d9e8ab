// Resource names: "modelGraphs/llama-3.1-8b". The only place that makes and
// reads them.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"

namespace mansard::server {

inline constexpr char kModelGraphs[] = "modelGraphs";
inline constexpr char kHardwareProfiles[] = "hardwareProfiles";

// "modelGraphs/llama-3.1-8b".
std::string ResourceName(absl::string_view collection, absl::string_view id);

// The id in a name of `collection`. Anything else is a violation of `field`
// that shows the pattern.
std::optional<std::string> ParseResourceName(absl::string_view name,
                                             absl::string_view collection,
                                             absl::string_view field,
                                             model::Violations& violations);

}  // namespace mansard::server
