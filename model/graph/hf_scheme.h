// What one quantisation object says.
#pragma once

#include <string>
#include <vector>

#include "model/graph/module_rules.h"

namespace mansard::model {

// What a checkpoint's quantisation does to its linear layers.
struct HfScheme {
  // What is left as it is.
  ModuleFormats wide;
  // Linear layers of the decoder that nothing names.
  ModuleFormats main;
  // Routers, head and embedding as well (MLX).
  bool all_classes = false;
  // Modules that nothing names are left as they are.
  bool named_only = false;
  ModuleRules left_out;
  ModuleRules named;
  Format kv_cache = Format::kBf16;
  // What no Format stands for exactly, and by what it is counted.
  std::vector<std::string> notes;
};

}  // namespace mansard::model
