// One JSON object as text of unknown origin brings it: bounded, typed reads,
// every mistake named. Accepts bare Infinity and NaN as numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"

namespace mansard::model {

struct JsonLimits {
  size_t max_bytes;
  int max_depth;    // Of objects and lists, the outermost included.
  size_t max_keys;  // Of the outermost object, repeated ones included.
};

class JsonObject {
 public:
  // INVALID_ARGUMENT, with `name` as the subject, when the text breaks a limit,
  // is not UTF-8, is not JSON (with the byte offset) or is no object.
  static absl::StatusOr<JsonObject> Parse(absl::string_view text,
                                          absl::string_view name,
                                          const JsonLimits& limits);

  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  // In alphabetical order; a key that stands twice is here twice. The reads
  // below take its first value.
  std::vector<std::string> Keys() const;

  bool Has(absl::string_view key) const;
  // Absent or null.
  bool IsNull(absl::string_view key) const;
  // Absent, null, false, zero, or empty.
  bool IsOff(absl::string_view key) const;
  // The value in a few words: "32.5", "\"thirty\"", "a list".
  std::string Describe(absl::string_view key) const;

  // Each adds a violation to the field `key` and returns nothing when the key
  // is absent or its value is of another type or out of range. An integer is
  // written without point and exponent.
  std::optional<int64_t> Integer(absl::string_view key, int64_t minimum,
                                 int64_t maximum, Violations& violations) const;
  std::optional<bool> Boolean(absl::string_view key,
                              Violations& violations) const;
  std::optional<std::string> String(absl::string_view key,
                                    Violations& violations) const;
  std::optional<std::vector<std::string>> Strings(absl::string_view key,
                                                  Violations& violations) const;

  // The string at `inner` of the object at `key`; nothing when there is none.
  std::optional<std::string> InnerString(absl::string_view key,
                                         absl::string_view inner) const;

 private:
  struct Impl;
  explicit JsonObject(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Text of unknown origin for a message: control characters escaped, cut to
// about `max_bytes` at a character's end.
std::string Printable(absl::string_view text, size_t max_bytes = 64);

}  // namespace mansard::model
