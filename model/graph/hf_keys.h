// What a key's name says of its meaning for cost.
#pragma once

#include "absl/strings/string_view.h"
#include "model/graph/hf_families.h"

namespace mansard::model {

enum class KeyRole {
  kHarmless,  // Known; no value of it changes cost.
  kTower,     // A part of the file that is no decoder: vision, audio.
  kCostly,    // Its name speaks of structure.
  kUnknown,
};
// Of a key that the family does not read.
KeyRole RoleOfKey(absl::string_view key, const HfFamily& family);

}  // namespace mansard::model
