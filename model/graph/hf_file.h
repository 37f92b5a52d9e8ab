// One config.json of a known family while it is read: what was assumed, what
// was ignored and what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
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

// Reads go on after a mistake, so that all are found. `names` is one key or
// several names of the same key with "|" between them; a key of an inner object
// is named by its path, "attn_config.kv_n_heads". Two names that are both there
// and say different things are a violation. Every read marks its keys: those
// that no read asked for are what CheckKeys sorts.
//
// Where the decoder is a part of a larger file, its own keys hold; those around
// it are read where the decoder has none, with a note.
class HfFile {
 public:
  // `around`: the objects around the decoder, innermost first.
  HfFile(JsonObject decoder, std::vector<JsonObject> around,
         const HfFamily& family, std::string architecture,
         std::vector<std::string> assumptions, Violations& violations);

  const HfFamily& family() const { return family_; }
  // As the file says it, for messages.
  const std::string& architecture() const { return architecture_; }
  // The decoder is a part of a larger file.
  bool nested() const { return objects_.size() > 1; }
  Violations& violations() { return violations_; }
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  // Sorted, each once.
  std::vector<std::string> ignored_keys() const;

  void Note(std::string assumption);
  // Notes that the class default stands in for an absent key. Of several names
  // the first is named.
  void NoteDefault(absl::string_view names, absl::string_view taken);
  // Adds a violation to the key as the file names it.
  void Complain(absl::string_view names, absl::string_view description);
  // To an entry of a list.
  void ComplainAt(absl::string_view names, size_t index,
                  absl::string_view description);
  // Lists the keys, where they are there, as ones that change no cost.
  void Ignore(absl::string_view names);

  // The first of several keys that is there and not null, else the first; the
  // others are ignored.
  absl::string_view FirstOf(absl::Span<const absl::string_view> keys);
  // The keys are dealt with elsewhere: not CheckKeys's.
  void Settle(absl::string_view names);

  // Whether one of the names is there.
  bool Has(absl::string_view names);
  // Absent or null.
  bool IsNull(absl::string_view names);
  // Absent, null, false, zero, or empty.
  bool IsOff(absl::string_view names);
  bool IsString(absl::string_view names);
  bool IsList(absl::string_view names);
  // The value in a few words.
  std::string Describe(absl::string_view names);

  // 1 to `maximum`; 0 with a violation when it cannot be read. Rules that
  // involve a 0 are skipped.
  int64_t Required(absl::string_view names, int64_t maximum);
  // `absent`, with a note, where the key is absent; else as Required.
  int64_t IntegerOr(absl::string_view names, int64_t absent, int64_t maximum);
  // Nothing where the key is absent or null; `minimum` with a violation when it
  // cannot be read.
  std::optional<int64_t> Optional(absl::string_view names, int64_t minimum,
                                  int64_t maximum);
  // As above; any number.
  std::optional<double> OptionalNumber(absl::string_view names, double minimum,
                                       double maximum);
  // `absent` where the key is absent (noted), or cannot be read.
  bool BooleanOr(absl::string_view names, bool absent);
  // The class's rule for a part: a fixed one, or a key's.
  bool Is(const HfSwitch& rule);
  // Nothing where absent or null, or where it cannot be read (a violation).
  std::optional<std::string> OptionalString(absl::string_view names);
  // Of the outermost object that has one that is not empty; empty where none
  // has.
  std::string OutermostString(absl::string_view name);
  std::optional<std::vector<std::string>> OptionalStrings(
      absl::string_view names);
  std::optional<std::vector<int64_t>> OptionalIntegers(absl::string_view names,
                                                       int64_t minimum,
                                                       int64_t maximum);
  // The object, with its own path; nothing where there is none. Its keys are
  // the reader's to check.
  std::optional<JsonObject> OptionalObject(absl::string_view names);
  // The objects of a list, each with its own path.
  std::optional<std::vector<JsonObject>> OptionalObjects(
      absl::string_view names);

  // Complains where a list has not one entry a layer. `layer_count` 0: not
  // known.
  bool CheckLength(absl::string_view names, size_t entries,
                   int64_t layer_count);

  // Sorts the keys that nothing has read by what they mean for cost: repeated
  // ones and structure that the family lacks are violations; harmless ones are
  // ignored; unknown ones are noted. After all reads.
  void CheckKeys();

 private:
  struct Place {
    const JsonObject* object;
    absl::string_view key;
  };
  // The first name that is there and not null, else the first that is there,
  // else the first name of the decoder. Marks all of them as read.
  Place Find(absl::string_view names);
  // Marks the key at a place that is there, and compares it with the one that
  // holds. Only at the first read of the key.
  void MarkRead(const Place& place, const Place& holds);
  void CheckObject(const JsonObject& object, bool around);
  void CheckUnread(const JsonObject& object, const std::string& key,
                   bool around);

  std::vector<JsonObject> objects_;  // The decoder first, then outwards.
  const HfFamily& family_;
  std::string architecture_;
  std::vector<std::string> assumptions_;
  std::vector<std::string> ignored_keys_;
  std::vector<std::string> read_keys_;  // By path, as wrong_booleans_.
  // Several parts may ask for the same key: one violation.
  std::vector<std::string> wrong_booleans_;
  Violations& violations_;
};

}  // namespace mansard::model
