// JSON of tools: members that may be missing or of another type.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rapidjson/document.h"

namespace mansard::calibrate {

// Error: INVALID_ARGUMENT with the offset; a file that was cut off says so.
// Nesting costs no stack.
absl::StatusOr<rapidjson::Document> ParseToolJson(absl::string_view text);

// Null where `value` is no object or has no such member.
const rapidjson::Value* Member(const rapidjson::Value& value, const char* name);
// Empty where it is no string.
absl::string_view TextOf(const rapidjson::Value* value);
// Of a number, or a string that is one; finite.
std::optional<double> NumberOf(const rapidjson::Value* value);

}  // namespace mansard::calibrate
