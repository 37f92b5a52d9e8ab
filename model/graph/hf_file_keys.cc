// What becomes of the keys that nothing has read.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/graph/hf_file.h"
#include "model/graph/hf_keys.h"

namespace mansard::model {

void HfFile::CheckKeys() {
  std::sort(read_keys_.begin(), read_keys_.end());
  for (const JsonObject& object : objects_) {
    CheckObject(object, &object != &objects_.front());
  }
}

void HfFile::CheckObject(const JsonObject& object, bool around) {
  const std::vector<std::string> keys = object.Keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && keys[i] == keys[i - 1]) {
      // One violation, however often the key stands there.
      if (i == 1 || keys[i] != keys[i - 2]) {
        violations_.Add(Printable(absl::StrCat(object.path(), keys[i])),
                        "stands more than once");
      }
      continue;
    }
    const std::string path = absl::StrCat(object.path(), keys[i]);
    const auto read =
        std::lower_bound(read_keys_.begin(), read_keys_.end(), path);
    if (read != read_keys_.end() && *read == path) continue;
    const bool read_below = read != read_keys_.end() &&
                            absl::StartsWith(*read, absl::StrCat(path, "."));
    if (!read_below) {
      CheckUnread(object, keys[i], around);
    } else if (RoleOfKey(keys[i], family_) != KeyRole::kHarmless) {
      const std::optional<JsonObject> below =
          object.Object(keys[i], violations_);
      if (below.has_value()) CheckObject(*below, around);
    }
  }
}

void HfFile::CheckUnread(const JsonObject& object, const std::string& key,
                         bool around) {
  const std::string shown = Printable(absl::StrCat(object.path(), key));
  const KeyRole role = RoleOfKey(key, family_);
  if (role == KeyRole::kHarmless || object.IsOff(key)) {
    ignored_keys_.push_back(shown);
    return;
  }
  if (role == KeyRole::kTower && object.IsObject(key)) {
    Note(absl::StrCat(shown, " is no part of the text decoder: not counted"));
    return;
  }
  if (role == KeyRole::kTower && around) {
    ignored_keys_.push_back(shown);
    return;
  }
  if (role == KeyRole::kUnknown) {
    Note(absl::StrCat("key '", shown,
                      "' is not known and was taken to change no cost"));
    return;
  }
  violations_.Add(shown,
                  absl::StrCat("is ", object.Describe(key), "; ", architecture_,
                               " has no such key, and by its name it "
                               "changes cost"));
}

}  // namespace mansard::model
