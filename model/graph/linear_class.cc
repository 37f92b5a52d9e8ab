#include "model/graph/linear_class.h"

#include "absl/strings/str_cat.h"

namespace mansard::model {

std::array<LinearClass, kLinearClassCount> AllLinearClasses() {
  std::array<LinearClass, kLinearClassCount> all{};
  for (size_t i = 0; i < kLinearClassCount; ++i) {
    all[i] = static_cast<LinearClass>(i);
  }
  return all;
}

absl::string_view LinearClassName(LinearClass linear) {
  switch (linear) {
    case LinearClass::kAttentionInput:
      return "attention_input";
    case LinearClass::kAttentionOutput:
      return "attention_output";
    case LinearClass::kRecurrent:
      return "recurrent";
    case LinearClass::kFeedForward:
      return "feed_forward";
    case LinearClass::kExperts:
      return "experts";
    case LinearClass::kSharedExperts:
      return "shared_experts";
    case LinearClass::kLatentExperts:
      return "latent_experts";
    case LinearClass::kRouter:
      return "router";
    case LinearClass::kHead:
      return "head";
    case LinearClass::kEmbedding:
      return "embedding";
  }
  return "";
}

std::optional<LinearClass> ParseLinearClass(absl::string_view name) {
  for (LinearClass linear : AllLinearClasses()) {
    if (LinearClassName(linear) == name) return linear;
  }
  return std::nullopt;
}

std::string LinearClassNames() {
  std::string names;
  for (LinearClass linear : AllLinearClasses()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", LinearClassName(linear));
  }
  return names;
}

}  // namespace mansard::model
