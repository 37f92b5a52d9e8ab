// Which model of the catalog a model's name at a hub, or its folder, means.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mansard::importing {

struct KnownModel {
  std::string id;      // "llama-3.1-8b".
  std::string source;  // "meta-llama/Llama-3.1-8B config.json".
};

struct ModelMatch {
  std::string id;                    // Empty: none.
  std::string because;               // Where the names differ: why it is it.
  std::vector<std::string> closest;  // Where there is none: ids, best first.
};

// By id, by source, or by what is left of both names without the words that
// change no shape ("Instruct", "-hf", dates).
ModelMatch MatchModel(absl::string_view name,
                      const std::vector<KnownModel>& known);

}  // namespace mansard::importing
