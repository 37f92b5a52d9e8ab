// Measured collectives: the table "collectives".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, link, op, dtype, n_gpus, n_nodes,
// gpus_per_node, message_bytes, latency_us, library, library_version,
// algo_or_mode and source, in any order and among others. An engine's own
// all-reduce has the engine as its framework, every other row its library.
//
// slice: "all_reduce nvlink x8", "all_reduce rdma x16/2" of two nodes; then
// " int8", which no switch adds, and " eager", whose small buffers take as long
// as the host needs to launch. in_target: 4 KB to 1 GB, but for the last.
// size: bytes of the buffer. Rows on links that are none of ours have no ops.
absl::StatusOr<std::vector<MeasuredCase>> ReadCollectiveCases(
    absl::string_view csv);

}  // namespace mansard::calibrate
