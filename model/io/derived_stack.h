// Kernel stacks that say only how they differ from another of their profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

// `proto` with all that it leaves to its base stack: bindings and their
// families, host, fusion, memory.
v1::KernelStack WithBase(const v1::KernelStack& proto, const KernelStack& base);
// A family and the binding that leads to it.
struct BoundFamily {
  std::string op_kind;
  std::string precision;
  std::string tier;
  KernelFamily family;
};
// The text of a profile's kernel_stacks entry: these families on a base.
std::string DerivedStackToText(
    absl::string_view id, absl::string_view base,
    const std::vector<BoundFamily>& families,
    std::optional<double> foreign_expert_rows,
    const std::optional<EngineCosts>& engine_costs = std::nullopt);

}  // namespace mansard::model
