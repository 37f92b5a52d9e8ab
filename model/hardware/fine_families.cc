#include "model/hardware/fine_families.h"

namespace mansard::model {

absl::string_view ElementwiseUseName(ElementwiseUse use) {
  switch (use) {
    case ElementwiseUse::kNorm:
      return "norm";
    case ElementwiseUse::kActivation:
      return "activation";
    case ElementwiseUse::kRope:
      return "rope";
    case ElementwiseUse::kResidual:
      return "residual";
    case ElementwiseUse::kEmbedding:
      return "embedding";
    case ElementwiseUse::kSampling:
      return "sampling";
    case ElementwiseUse::kRouting:
      return "routing";
  }
  return "";
}

const FamilyFacts& FactsOf(const KernelFamily& family) {
  return std::visit(
      [](const auto& typed) -> const FamilyFacts& { return typed.facts; },
      family);
}

}  // namespace mansard::model
