// A trace of torch.profiler -> a table "gemm".
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/rows.h"
#include "calibrate/import/tool_output.h"

namespace mansard::calibrate {

// Of a Chrome trace that was recorded with record_shapes=True: calls of mm,
// addmm, bmm, baddbmm and _scaled_mm with the kernels that they launched. A row
// is the median of all calls of a shape, the kernels of a call together. That
// is coarse: programs run on one after the other, clocks move, the profiler
// costs time. Rows of fewer than three calls, or whose calls differ by a fifth,
// are flagged, and fits leave them out. Without an engine in the context the
// rows are of the framework "torch.profiler". Left out, and counted in the
// notes: fp32, which may compute in another format, other types, calls without
// a kernel (those of a replayed graph). Error: INVALID_ARGUMENT for JSON that
// is no trace or breaks off, a trace without shapes or kernels, of several
// kinds of device, or where no row is left.
absl::StatusOr<Imported> ImportTorchTrace(absl::string_view text,
                                          const RowContext& context);

}  // namespace mansard::calibrate
