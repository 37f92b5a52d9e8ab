#include "model/graph/hf_file.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace mansard::model {

std::vector<std::string> HfFile::ignored_keys() const {
  std::vector<std::string> keys = ignored_keys_;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void HfFile::NoteDefault(absl::string_view key, absl::string_view taken) {
  Note(absl::StrCat(key, " is absent: ", taken, ", as the class default"));
}

void HfFile::Ignore(absl::string_view key) {
  if (json_.Has(key)) ignored_keys_.push_back(Printable(key));
}

int64_t HfFile::Required(absl::string_view key, int64_t maximum) {
  return json_.Integer(key, 1, maximum, violations_).value_or(0);
}

bool HfFile::BooleanOr(absl::string_view key, bool absent) {
  if (json_.Has(key)) return json_.Boolean(key, violations_).value_or(absent);
  NoteDefault(key, absent ? "true" : "false");
  return absent;
}

void HfFile::CheckKeys() {
  const std::vector<std::string> keys = json_.Keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[i];
    const std::string shown = Printable(key);
    if (i > 0 && key == keys[i - 1]) {
      // One violation, however often the key stands there.
      if (i == 1 || key != keys[i - 2]) {
        violations_.Add(shown, "stands more than once");
      }
      continue;
    }
    switch (RoleOfKey(key)) {
      case KeyRole::kRead:
        break;
      case KeyRole::kHarmless:
        Ignore(key);
        break;
      case KeyRole::kQuantization:
        CheckQuantization(key);
        break;
      case KeyRole::kCostly:
        if (json_.IsOff(key)) {
          Ignore(key);
        } else {
          violations_.Add(shown,
                          absl::StrCat("is ", json_.Describe(key), "; ",
                                       family_.architecture,
                                       " has no such key, and by its name it "
                                       "changes cost"));
        }
        break;
      case KeyRole::kUnknown:
        Note(absl::StrCat("key '", shown,
                          "' is not known and was taken to change no cost"));
        break;
    }
  }
}

void HfFile::CheckQuantization(absl::string_view key) {
  if (json_.IsOff(key)) {
    Ignore(key);
    return;
  }
  const std::optional<std::string> method =
      json_.InnerString(key, "quant_method");
  const std::string what =
      method.has_value()
          ? absl::StrCat("has quant_method \"", Printable(*method), "\"")
          : "says that the weights are quantised";
  violations_.Add(
      key, absl::StrCat(what,
                        "; this version does not read quantisation, and the "
                        "cost without it would be wrong. Remove the key and "
                        "choose the precision in the request"));
}

}  // namespace mansard::model
