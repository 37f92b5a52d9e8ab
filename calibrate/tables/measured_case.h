// One row of a measured table as the engine sees it: ops and a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/hardware/device.h"
#include "model/hardware/kernel_stack.h"
#include "model/ops/op.h"

namespace mansard::calibrate {

// Fits see the rows of one side and are judged on the other. A shape is on one
// side for every device, framework and version.
enum class Side { kFitted, kHeldOut };
// By a hash of the shape columns alone, in the table's order.
Side SideOf(const std::vector<int64_t>& shape);

// Of what stands in no table.
inline constexpr size_t kNoRow = SIZE_MAX;

struct MeasuredCase {
  std::string table;  // "gemm"; see tables.h.
  // In the file, from 0, its header not counted; kNoRow: not from a file.
  size_t row = 0;
  std::string device;
  std::string framework;
  std::string version;
  std::string source;  // "owner/name@commit:path".
  std::string flag;    // Not empty: something is known against the row.
  // What is judged together, beside device, framework and version: formats,
  // the collective and its ranks. "bf16", "fp8 + quantize".
  std::string slice;
  model::Seconds measured;
  Side side = Side::kFitted;
  // What size deciles are made of: FLOP, cache bytes, message bytes.
  double size = 0;
  // Belongs to what the targets are about: n, k >= 512; 512 prompt tokens.
  bool in_target = true;
  // The measurement repeats itself on the same cache or weights, which then
  // stay in L2 where they fit.
  bool warm_cache = false;
  // Shape columns for people: "m=1 n=4096 k=4096".
  std::string shape;
  // The fabric that the row names; empty: the hardware's first.
  std::string fabric;
  // What the row ran, on a device and a stack (whose traits may change the
  // work). Empty where they have no unit for the formats.
  std::function<std::optional<model::OpList>(const model::Device&,
                                             const model::KernelStack&)>
      ops;
};

// Reads a table's rows. Rows without a positive shape and time are left out.
// Error: a column is missing, or a row has another number of cells than the
// header.
using ReadCases =
    absl::StatusOr<std::vector<MeasuredCase>> (*)(absl::string_view csv);

}  // namespace mansard::calibrate
