// Measured bandwidths of links -> a fragment of a fabric.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/tool_output.h"

namespace mansard::calibrate {

// The JSON of nvbandwidth -> the text of a mansard.v1.Fabric with the links
// within a node: "pcie", the slower direction between host and device, and
// "nvlink" where devices reach each other faster than the host by half. All of
// a device's links together are what one device exchanges with all others,
// where that was measured, else what it does with one other. Every test's rates
// are comments. Tests that did not pass are named in the notes. `date`: when it
// was measured, as "2026-11-30". Error: INVALID_ARGUMENT for JSON that is none
// of the tool's (where it breaks off, the offset), or has no such test.
absl::StatusOr<Imported> ImportNvbandwidth(absl::string_view text,
                                           absl::string_view date);

// What ib_write_bw, ib_read_bw or ib_send_bw print -> the text of a
// mansard.v1.Fabric with an "rdma" link: the best average of all sizes, for one
// device that has the network card to itself. Error: INVALID_ARGUMENT for both
// directions together, a row that is cut off, units that are not known, or no
// row.
absl::StatusOr<Imported> ImportPerftest(absl::string_view text,
                                        absl::string_view date);

}  // namespace mansard::calibrate
