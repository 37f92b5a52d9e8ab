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
// Families and the like on a base; what is empty is the base's.
struct DerivedStack {
  std::string id;
  std::string base;
  std::vector<BoundFamily> families = {};
  std::optional<double> foreign_expert_rows = std::nullopt;
  std::optional<HostCost> host = std::nullopt;
  std::optional<EngineCosts> engine_costs = std::nullopt;
};
// The text of a profile's kernel_stacks entry.
std::string DerivedStackToText(const DerivedStack& derived);

}  // namespace mansard::model
