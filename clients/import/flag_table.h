// Which flags each engine has, and what becomes of them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mansard::importing {

enum class Runtime { kVllm, kSglang, kTrtllm };
// "vLLM", and the version whose flags and defaults these are: "0.24".
absl::string_view RuntimeName(Runtime runtime);
absl::string_view RuntimeVersion(Runtime runtime);
// As ids of kernel stacks begin: "vllm".
absl::string_view StackPrefix(Runtime runtime);

enum class Fate {
  kEngine,      // It is part of the Engine.
  kDefault,     // It is absent: the engine's own default is part of the Engine.
  kRequest,     // Belongs to what is asked about the Engine.
  kNotModeled,  // It changes times or room, and no term of the model tells how.
  kNoEffect,    // On times or room.
  kUnknown,
};
// "engine", "default", "ask", "not modelled", "no effect", "unknown".
absl::string_view FateWord(Fate fate);

enum class Arity {
  kSwitch,  // --a, --no-a, --a=true.
  kValue,
  kValues,  // One or more words.
  kObject,  // A JSON object; its members may also be --a.member VALUE.
};

struct FlagSpec {
  // Words without leading dashes, by dashes inside, the first one shown; of
  // short ones with their dash: "tensor-parallel-size -tp". Members of objects
  // stand as "a.member".
  absl::string_view names;
  Arity arity;
  Fate fate;
  // What becomes of it; kEngine: see vllm.cc and its neighbours.
  absl::string_view note;
};

absl::Span<const FlagSpec> VllmFlags();
absl::Span<const FlagSpec> SglangFlags();
absl::Span<const FlagSpec> TrtllmFlags();
absl::Span<const FlagSpec> FlagsOf(Runtime runtime);

// The first of a spec's names.
absl::string_view MainName(const FlagSpec& spec);
// Null where no flag has the name.
const FlagSpec* FindFlag(Runtime runtime, absl::string_view name);

}  // namespace mansard::importing
