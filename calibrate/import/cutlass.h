// The CUTLASS profiler -> a table "gemm".
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/rows.h"
#include "calibrate/import/tool_output.h"

namespace mansard::calibrate {

// Of every shape in its formats the fastest kernel that passed or was not
// verified (which is noted). Left out, and counted in the notes: other
// operations than dense GEMMs, runs that failed or were wrong, formats that no
// table has, and fp32 on tensor units, which compute in another format. Tables
// of several problems and devices' reports before the CSV are passed over.
// Error: INVALID_ARGUMENT where the table breaks off, lacks a column, or no row
// is left.
absl::StatusOr<Imported> ImportCutlass(absl::string_view text,
                                       const RowContext& context);

}  // namespace mansard::calibrate
