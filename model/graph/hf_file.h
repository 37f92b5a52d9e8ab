// One config.json of a known family while it is read: what was assumed, what
// was ignored and what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/graph/hf_families.h"
#include "model/graph/json_object.h"

namespace mansard::model {

// The rules of ModelGraph, for messages by the names of the file's own keys.
inline constexpr int64_t kMaxHfSize = 1 << 24;
inline constexpr int64_t kMaxHfVocabulary = 1 << 28;
inline constexpr int64_t kMaxHfLayers = 4096;
inline constexpr int64_t kMaxHfHeads = 65536;
inline constexpr int64_t kMaxHfTokens = 1'000'000'000;

// Reads go on after a mistake, so that all are found.
class HfFile {
 public:
  HfFile(const JsonObject& json, const HfFamily& family,
         std::vector<std::string> assumptions, Violations& violations)
      : json_(json),
        family_(family),
        assumptions_(std::move(assumptions)),
        violations_(violations) {}

  const JsonObject& json() const { return json_; }
  const HfFamily& family() const { return family_; }
  Violations& violations() { return violations_; }
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  // Sorted, each once.
  std::vector<std::string> ignored_keys() const;

  void Note(std::string assumption) {
    assumptions_.push_back(std::move(assumption));
  }
  // Notes that the class default stands in for an absent key.
  void NoteDefault(absl::string_view key, absl::string_view taken);
  // Lists the key, if it is there, as one that changes no cost.
  void Ignore(absl::string_view key);

  // 1 to `maximum`; 0 with a violation when it cannot be read. Rules that
  // involve a 0 are skipped.
  int64_t Required(absl::string_view key, int64_t maximum);
  // An absent key is `absent`, with a note.
  bool BooleanOr(absl::string_view key, bool absent);

  // Sorts all keys by what they mean for cost: repeated ones, quantisation and
  // structure that the family lacks are violations; harmless ones are ignored;
  // unknown ones are noted.
  void CheckKeys();

 private:
  void CheckQuantization(absl::string_view key);

  const JsonObject& json_;
  const HfFamily& family_;
  std::vector<std::string> assumptions_;
  std::vector<std::string> ignored_keys_;
  Violations& violations_;
};

}  // namespace mansard::model
