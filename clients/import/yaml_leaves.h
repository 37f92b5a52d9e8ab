// YAML, and with it JSON, as a flat list of values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::importing {

// "kv_cache_config.dtype" and "fp8", in the file's order. Lists of scalars are
// one value, joined by commas; of other lists the items are numbered. Nothing
// is "null", an empty map "{}", an empty list "[]".
using YamlLeaves = std::vector<std::pair<std::string, std::string>>;

// InvalidArgument, "3:7: what is wrong": text that is no YAML, whose top is no
// map, or that has more than 10,000 values or 32 levels.
absl::StatusOr<YamlLeaves> ReadYamlLeaves(absl::string_view text);

}  // namespace mansard::importing
