#include "model/graph/hf_file.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// The first of names with "|" between them; takes it off.
absl::string_view TakeName(absl::string_view& names) {
  const size_t end = std::min(names.find('|'), names.size());
  const absl::string_view name = names.substr(0, end);
  names.remove_prefix(std::min(end + 1, names.size()));
  return name;
}

absl::string_view FirstName(absl::string_view names) { return TakeName(names); }

std::string PathOf(const JsonObject& object, absl::string_view key) {
  return absl::StrCat(object.path(), key);
}

}  // namespace

HfFile::HfFile(JsonObject decoder, std::vector<JsonObject> around,
               const HfFamily& family, std::string architecture,
               std::vector<std::string> assumptions, Violations& violations)
    : family_(family),
      architecture_(std::move(architecture)),
      assumptions_(std::move(assumptions)),
      violations_(violations) {
  objects_.push_back(std::move(decoder));
  for (JsonObject& object : around) objects_.push_back(std::move(object));
  for (const JsonObject& object : objects_) {
    if (object.path().empty()) continue;
    read_keys_.push_back(object.path().substr(0, object.path().size() - 1));
  }
}

std::vector<std::string> HfFile::ignored_keys() const {
  std::vector<std::string> keys = ignored_keys_;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void HfFile::Note(std::string assumption) {
  if (std::find(assumptions_.begin(), assumptions_.end(), assumption) ==
      assumptions_.end()) {
    assumptions_.push_back(std::move(assumption));
  }
}

void HfFile::NoteDefault(absl::string_view names, absl::string_view taken) {
  Note(absl::StrCat(FirstName(names), " is absent: ", taken,
                    ", as the class default"));
}

void HfFile::Complain(absl::string_view names, absl::string_view description) {
  const Place place = Find(names);
  violations_.Add(PathOf(*place.object, place.key), description);
}

void HfFile::ComplainAt(absl::string_view names, size_t index,
                        absl::string_view description) {
  const Place place = Find(names);
  violations_.Add(Indexed(PathOf(*place.object, place.key), index),
                  description);
}

void HfFile::Ignore(absl::string_view names) {
  while (!names.empty()) {
    const absl::string_view name = TakeName(names);
    for (const JsonObject& object : objects_) {
      if (!object.Has(name)) continue;
      const std::string path = PathOf(object, name);
      read_keys_.push_back(path);
      ignored_keys_.push_back(Printable(path));
    }
  }
}

absl::string_view HfFile::FirstOf(absl::Span<const absl::string_view> keys) {
  absl::string_view first = keys.front();
  bool found = false;
  for (absl::string_view key : keys) {
    if (!IsNull(key) && !found) {
      first = key;
      found = true;
    } else if (found || key != first) {
      Ignore(key);
    }
  }
  return first;
}

void HfFile::Settle(absl::string_view names) {
  while (!names.empty()) {
    const absl::string_view name = TakeName(names);
    for (const JsonObject& object : objects_) {
      read_keys_.push_back(PathOf(object, name));
    }
  }
}

HfFile::Place HfFile::Find(absl::string_view names) {
  const Place absent = {&objects_.front(), FirstName(names)};
  Place holds = absent;
  bool there = false;
  for (const bool want_null : {false, true}) {
    for (const JsonObject& object : objects_) {
      absl::string_view rest = names;
      while (!rest.empty()) {
        const absl::string_view name = TakeName(rest);
        if (!object.Has(name) || object.IsNull(name) != want_null) continue;
        if (!there) holds = {&object, name};
        there = true;
        MarkRead({&object, name}, holds);
      }
    }
  }
  return holds;
}

void HfFile::MarkRead(const Place& place, const Place& holds) {
  std::string path = PathOf(*place.object, place.key);
  if (std::find(read_keys_.begin(), read_keys_.end(), path) !=
      read_keys_.end()) {
    return;
  }
  read_keys_.push_back(path);
  const std::string held = PathOf(*holds.object, holds.key);
  if (path == held) {
    if (place.object != &objects_.front()) {
      Note(absl::StrCat(path,
                        " stands outside the decoder's own keys: taken "
                        "from there"));
    }
    return;
  }
  if (place.object->IsNull(place.key) ||
      place.object->Equals(place.key, *holds.object, holds.key)) {
    return;
  }
  const std::string here = place.object->Describe(place.key);
  const std::string there = holds.object->Describe(holds.key);
  if (place.object != holds.object) {
    Note(absl::StrCat(path, " is ", here, ", but ", held, " is ", there,
                      ": the inner one holds"));
    return;
  }
  violations_.Add(path, absl::StrCat("is ", here, ", but ", held, " is ", there,
                                     ", and both mean the same"));
}

bool HfFile::Has(absl::string_view names) {
  const Place place = Find(names);
  return place.object->Has(place.key);
}

bool HfFile::IsNull(absl::string_view names) {
  const Place place = Find(names);
  return place.object->IsNull(place.key);
}

bool HfFile::IsOff(absl::string_view names) {
  const Place place = Find(names);
  return place.object->IsOff(place.key);
}

bool HfFile::IsString(absl::string_view names) {
  const Place place = Find(names);
  return place.object->IsString(place.key);
}

bool HfFile::IsList(absl::string_view names) {
  const Place place = Find(names);
  return place.object->IsList(place.key);
}

std::string HfFile::Describe(absl::string_view names) {
  const Place place = Find(names);
  return place.object->Describe(place.key);
}

int64_t HfFile::Required(absl::string_view names, int64_t maximum) {
  const Place place = Find(names);
  return place.object->Integer(place.key, 1, maximum, violations_).value_or(0);
}

int64_t HfFile::IntegerOr(absl::string_view names, int64_t absent,
                          int64_t maximum) {
  if (Has(names)) return Required(names, maximum);
  NoteDefault(names, absl::StrCat(absent));
  return absent;
}

std::optional<int64_t> HfFile::Optional(absl::string_view names,
                                        int64_t minimum, int64_t maximum) {
  const Place place = Find(names);
  if (place.object->IsNull(place.key)) return std::nullopt;
  return place.object->Integer(place.key, minimum, maximum, violations_)
      .value_or(minimum);
}

std::optional<double> HfFile::OptionalNumber(absl::string_view names,
                                             double minimum, double maximum) {
  const Place place = Find(names);
  if (place.object->IsNull(place.key)) return std::nullopt;
  return place.object->Number(place.key, minimum, maximum, violations_)
      .value_or(minimum);
}

bool HfFile::BooleanOr(absl::string_view names, bool absent) {
  const Place place = Find(names);
  if (!place.object->Has(place.key)) {
    NoteDefault(names, absent ? "true" : "false");
    return absent;
  }
  const std::string path = PathOf(*place.object, place.key);
  if (std::find(wrong_booleans_.begin(), wrong_booleans_.end(), path) !=
      wrong_booleans_.end()) {
    return absent;
  }
  const std::optional<bool> value =
      place.object->Boolean(place.key, violations_);
  if (!value.has_value()) wrong_booleans_.push_back(path);
  return value.value_or(absent);
}

bool HfFile::Is(const HfSwitch& rule) {
  if (rule.keys.empty()) return rule.absent;
  const bool there = BooleanOr(rule.keys, rule.absent) != rule.negated;
  return (!rule.or_keys.empty() && Has(rule.or_keys) &&
          BooleanOr(rule.or_keys, false)) ||
         there;
}

std::optional<std::string> HfFile::OptionalString(absl::string_view names) {
  const Place place = Find(names);
  if (place.object->IsNull(place.key)) return std::nullopt;
  return place.object->String(place.key, violations_);
}

std::string HfFile::OutermostString(absl::string_view name) {
  Settle(name);
  std::string outermost;
  for (const JsonObject& object : objects_) {
    if (object.IsOff(name)) continue;
    outermost = object.String(name, violations_).value_or(outermost);
  }
  return outermost;
}

std::optional<std::vector<std::string>> HfFile::OptionalStrings(
    absl::string_view names) {
  const Place place = Find(names);
  if (place.object->IsNull(place.key)) return std::nullopt;
  return place.object->Strings(place.key, violations_);
}

std::optional<std::vector<int64_t>> HfFile::OptionalIntegers(
    absl::string_view names, int64_t minimum, int64_t maximum) {
  const Place place = Find(names);
  if (place.object->IsNull(place.key)) return std::nullopt;
  return place.object->Integers(place.key, minimum, maximum, violations_);
}

std::optional<std::vector<JsonObject>> HfFile::OptionalObjects(
    absl::string_view names) {
  const Place place = Find(names);
  if (place.object->IsNull(place.key)) return std::nullopt;
  return place.object->Objects(place.key, violations_);
}

std::optional<JsonObject> HfFile::OptionalObject(absl::string_view names) {
  const Place place = Find(names);
  return place.object->Object(place.key, violations_);
}

bool HfFile::CheckLength(absl::string_view names, size_t entries,
                         int64_t layer_count) {
  if (layer_count == 0 || static_cast<int64_t>(entries) == layer_count) {
    return true;
  }
  Complain(names, absl::StrCat("has ", entries,
                               " entries; num_hidden_layers is ", layer_count));
  return false;
}

}  // namespace mansard::model
