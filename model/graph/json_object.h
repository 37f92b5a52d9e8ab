// One JSON object as text of unknown origin brings it: bounded, typed reads,
// every mistake named. Accepts bare Infinity and NaN as numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/graph/json_text.h"

namespace mansard::model {

class JsonObject {
 public:
  // `path`: of the outermost object, for violations.
  // INVALID_ARGUMENT, with `name` as the subject, when the text breaks a limit,
  // is not UTF-8, is not JSON (with the byte offset) or is no object.
  static absl::StatusOr<JsonObject> Parse(absl::string_view text,
                                          absl::string_view name,
                                          const JsonLimits& limits,
                                          absl::string_view path = "");

  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  // The object at `key`; nothing where there is none, or where it has more keys
  // than the limit, which adds a violation. It may outlive this one.
  std::optional<JsonObject> Object(absl::string_view key,
                                   Violations& violations) const;
  // Where the object stands, for violations: "" for the outermost one,
  // "text_config." for the one at text_config.
  const std::string& path() const;

  // In alphabetical order; a key that stands twice is here twice. The reads
  // below take its first value. They also take a path through objects,
  // "attn_config.kv_n_heads", where no key is written like it.
  std::vector<std::string> Keys() const;

  bool Has(absl::string_view key) const;
  // Absent or null.
  bool IsNull(absl::string_view key) const;
  // Absent, null, false, zero, or empty.
  bool IsOff(absl::string_view key) const;
  bool IsObject(absl::string_view key) const;
  bool IsList(absl::string_view key) const;
  bool IsString(absl::string_view key) const;
  // The value in a few words: "32.5", "\"thirty\"", "a list".
  std::string Describe(absl::string_view key) const;
  // Whether the value at `key` equals that at `other_key` of `other`. What is
  // absent, an object or a list of lists equals nothing.
  bool Equals(absl::string_view key, const JsonObject& other,
              absl::string_view other_key) const;

  // Each adds a violation to the field `path()` + `key` and returns nothing
  // when the key is absent or its value is of another type or out of range. An
  // integer is written without point and exponent.
  std::optional<int64_t> Integer(absl::string_view key, int64_t minimum,
                                 int64_t maximum, Violations& violations) const;
  // NaN is in no range.
  std::optional<double> Number(absl::string_view key, double minimum,
                               double maximum, Violations& violations) const;
  std::optional<bool> Boolean(absl::string_view key,
                              Violations& violations) const;
  std::optional<std::string> String(absl::string_view key,
                                    Violations& violations) const;
  std::optional<std::vector<std::string>> Strings(absl::string_view key,
                                                  Violations& violations) const;
  std::optional<std::vector<int64_t>> Integers(absl::string_view key,
                                               int64_t minimum, int64_t maximum,
                                               Violations& violations) const;
  // A list of objects, each with its own path.
  std::optional<std::vector<JsonObject>> Objects(absl::string_view key,
                                                 Violations& violations) const;
  // The entries of the object at `key` that are objects, in the order of the
  // text. Nothing, without a violation, where there is no object; with one
  // where it has more than `max_keys` entries.
  std::optional<std::vector<std::pair<std::string, JsonObject>>> ObjectsByKey(
      absl::string_view key, size_t max_keys, Violations& violations) const;

 private:
  struct Impl;
  explicit JsonObject(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mansard::model
