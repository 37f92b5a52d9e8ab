// nccl-tests -> a table "collectives".
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/rows.h"
#include "calibrate/import/tool_output.h"

namespace mansard::calibrate {

// One row a size, by the time out of place. Ranks and nodes are counted in the
// list of devices, by host name; the operation and the library's version are
// the output's own, else the context's. Sizes with wrong results are refused
// and named; "N/A" is unchecked, and noted. Error: INVALID_ARGUMENT where the
// output breaks off, names no operation or several, lists ranks with gaps or on
// several kinds of device, has times of the host, or no row is left.
absl::StatusOr<Imported> ImportNcclTests(absl::string_view text,
                                         const RowContext& context);

}  // namespace mansard::calibrate
