// Slices of attention tables: formats, and kernels where an engine has several.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// "bf16", "bf16 kv fp8", of the types of arithmetic and cache.
std::string CacheSlice(absl::string_view type, absl::string_view cache);

// The source runs each measurement over and over on the same cache.
bool IsRepeated(absl::string_view source);

// The kernel that most rows of a device, framework, version and slice ran is
// the slice's own (the first by name where two have as many). Rows of another
// become a slice that names it, "bf16, triton", and are not in_target: a stack
// has one family for a slice. `kernels`: by case; what follows "|" does not
// count.
void SliceByKernel(const std::vector<std::string>& kernels,
                   std::vector<MeasuredCase>& cases);

}  // namespace mansard::calibrate
