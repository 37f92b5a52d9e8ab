// Kernel stacks that say only how they differ from another of their profile.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

// `proto` with all that it leaves to its base stack: bindings and their
// families, host, fusion, memory. Grouped GEMMs stay on the base's families.
v1::KernelStack WithBase(const v1::KernelStack& proto, const KernelStack& base);
// A family that serves plain GEMMs of one format.
struct BoundGemm {
  Format format = Format::kBf16;
  TiledGemmFamily family;
};
// The text of a profile's kernel_stacks entry: these families on a base.
std::string DerivedStackToText(absl::string_view id, absl::string_view base,
                               const std::vector<BoundGemm>& gemm);

}  // namespace mansard::model
