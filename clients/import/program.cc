#include "clients/import/program.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mansard::importing {
namespace {

using Words = std::vector<std::string>;

// Whether words[at] is where the arguments of `runtime` begin: how many words
// it takes, or 0.
size_t ProgramAt(Runtime runtime, const Words& words, size_t at) {
  const auto is = [&words](size_t i, absl::string_view word) {
    return i < words.size() &&
           (absl::string_view(words[i]) == word ||
            absl::EndsWith(words[i], absl::StrCat("/", word)));
  };
  const auto module = [&](absl::string_view prefix) {
    return is(at, "-m") && at + 1 < words.size() &&
           absl::StartsWith(words[at + 1], prefix);
  };
  switch (runtime) {
    case Runtime::kVllm:
      if (is(at, "vllm") && is(at + 1, "serve")) return 2;
      if (module("vllm.")) return 2;
      return absl::StrContains(words[at], "vllm-openai") ? 1 : 0;
    case Runtime::kSglang:
      if (is(at, "sglang") && is(at + 1, "serve")) return 2;
      return module("sglang.") || module("sglang") ? 2 : 0;
    case Runtime::kTrtllm:
      if (!is(at, "trtllm-serve")) return 0;
      return is(at + 1, "serve") ? 2 : 1;
  }
  return 0;
}

}  // namespace

std::optional<size_t> BehindProgram(Runtime runtime, const Words& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t taken = ProgramAt(runtime, words, i);
    if (taken > 0) return i + taken;
  }
  return std::nullopt;
}

}  // namespace mansard::importing
