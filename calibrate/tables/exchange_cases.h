// Measured dispatches and combines of experts' tokens: the table
// "moe_all_to_all".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, link, op, mode, dtype, n_gpus, n_nodes,
// tokens_per_gpu, hidden, topk, num_experts, comm_sms, latency_us, library,
// library_version and source, in any order and among others. Rows that only
// have a bandwidth are left out. What an engine measured of a library has the
// engine as its framework, every other row its library.
//
// slice: "expert_dispatch nvlink x8", "expert_combine_low_latency rdma x16/2"
// of two nodes. in_target: all. size: bytes of a copy of every token to each of
// its experts.
absl::StatusOr<std::vector<MeasuredCase>> ReadExchangeCases(
    absl::string_view csv);

}  // namespace mansard::calibrate
