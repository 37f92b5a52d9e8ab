// Which modules a quantisation scheme names, and what it says of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/graph/graph_spec.h"

namespace re2 {
class RE2;
}

namespace mansard::model {

// What a named module is stored in and reads.
struct ModuleFormats {
  Format weights = Format::kBf16;
  Format activations = Format::kBf16;

  bool operator==(const ModuleFormats&) const = default;
};

// Names with what holds for them. Three ways to name: parts of a name between
// dots ("lm_head", "model.layers.0.mlp", "gate" for "mlp.gate", not for
// "mlp.gate_proj"), the same with "*" for any text, and "re:" with a regular
// expression that holds from the beginning of a name. A name that is a part of
// a longer one stands for what is below it, too.
class ModuleRules {
 public:
  ModuleRules();
  ModuleRules(ModuleRules&&) noexcept;
  ModuleRules& operator=(ModuleRules&&) noexcept;
  ~ModuleRules();

  // False where a regular expression cannot be read. The rule that was added
  // first holds where several fit; those without "*" and "re:" before others.
  bool Add(absl::string_view name, const ModuleFormats& formats);

  bool empty() const { return literals_.empty() && patterns_.empty(); }
  size_t pattern_count() const { return patterns_.size(); }
  // Of a module; nothing where no rule names it.
  std::optional<ModuleFormats> Find(const std::string& module);
  // Rules that have fitted no module that was asked for.
  std::vector<std::string> Unused() const;
  // No rule can tell one layer's number from another's.
  bool SeesNoNumbers() const;
  // Whether some rule has the text in its name.
  bool Mention(absl::string_view text) const;

 private:
  struct Literal {
    ModuleFormats formats;
    bool used = false;
  };
  struct Pattern {
    std::string name;
    std::string plain;  // Without backslashes.
    std::unique_ptr<re2::RE2> expression;
    ModuleFormats formats;
    bool used = false;
  };
  std::map<std::string, Literal, std::less<>> literals_;
  std::vector<Pattern> patterns_;
};

}  // namespace mansard::model
