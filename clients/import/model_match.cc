#include "clients/import/model_match.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mansard::importing {
namespace {

constexpr size_t kMaxClosest = 3;

// Words of names that say how a model was trained or packed, not its shapes.
bool ChangesNoShape(absl::string_view word) {
  static const auto* const kWords = new std::set<std::string>{
      "meta", "instruct", "chat", "it",   "hf", "base",  "thinking",
      "sft",  "dpo",      "rl",   "text", "pt", "model", "instruction"};
  const bool date = word.size() == 4 &&
                    std::all_of(word.begin(), word.end(), [](unsigned char c) {
                      return absl::ascii_isdigit(c);
                    });
  return date || kWords->count(std::string(word)) > 0;
}

// "llama-3.1-8b" of "meta-llama/Meta-Llama-3.1-8B-Instruct/".
std::vector<std::string> WordsOf(absl::string_view name) {
  while (absl::ConsumeSuffix(&name, "/")) {
  }
  name = name.substr(name.rfind('/') + 1);
  const std::string plain =
      absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
  std::vector<std::string> words;
  for (const absl::string_view word :
       absl::StrSplit(plain, '-', absl::SkipEmpty())) {
    if (!ChangesNoShape(word)) words.push_back(std::string(word));
  }
  return words;
}

std::string Normal(absl::string_view name) {
  return absl::StrJoin(WordsOf(name), "-");
}

std::string Repository(const KnownModel& model) {
  return model.source.substr(0, model.source.find(' '));
}

// Names of models with the shapes of another.
absl::string_view SameShapes(absl::string_view normal) {
  constexpr std::pair<absl::string_view, absl::string_view> kSame[] = {
      {"llama-3.3-70b", "llama-3.1-70b"},
      {"deepseek-v3.1", "deepseek-v3"},
      {"qwen2.5-coder-7b", "qwen2.5-7b"},
      {"qwen2.5-coder-32b", "qwen2.5-32b"},
      {"mixtral-8x7b-v0.1", "mixtral-8x7b"}};
  for (const auto& [name, other] : kSame) {
    if (name == normal) return other;
  }
  return "";
}

// Words in common, less for those that are not.
int Likeness(const std::vector<std::string>& a,
             const std::vector<std::string>& b) {
  // Of another family there is nothing alike.
  if (a.empty() || b.empty() || a.front() != b.front()) return 0;
  int score = 6;
  for (size_t i = 1; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) score += 3;
  }
  const size_t longer = std::max(a.size(), b.size());
  return score - static_cast<int>(longer);
}

std::vector<std::string> Closest(absl::string_view name,
                                 const std::vector<KnownModel>& known) {
  const std::vector<std::string> words = WordsOf(name);
  std::vector<std::pair<int, std::string>> scored;
  for (const KnownModel& model : known) {
    const int score = Likeness(words, WordsOf(model.id));
    if (score > 0) scored.emplace_back(-score, model.id);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::string> ids;
  for (const auto& [score, id] : scored) {
    if (ids.size() < kMaxClosest) ids.push_back(id);
  }
  return ids;
}

}  // namespace

ModelMatch MatchModel(absl::string_view name,
                      const std::vector<KnownModel>& known) {
  for (const KnownModel& model : known) {
    if (model.id == name || absl::string_view(Repository(model)) == name) {
      return {model.id, "", {}};
    }
  }
  const std::string normal = Normal(name);
  const absl::string_view same = SameShapes(normal);
  for (const KnownModel& model : known) {
    if (Normal(model.id) == normal || Normal(Repository(model)) == normal) {
      return {model.id, "by its name", {}};
    }
  }
  for (const KnownModel& model : known) {
    if (!same.empty() && absl::string_view(model.id) == same) {
      return {model.id, "a model of the same shapes", {}};
    }
  }
  return {"", "", Closest(name, known)};
}

}  // namespace mansard::importing
