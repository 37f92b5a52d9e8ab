// Layers of experts and their grouped GEMMs, as a table of them reads.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, dtype_act, dtype_weight, scope,
// num_tokens, hidden, inter, topk, num_experts, moe_tp, moe_ep, distribution,
// latency_us, framework, framework_version, kernel, flag and source, in any
// order and among others. Rows without a positive shape and time are left out,
// and those whose numbers do not divide.
//
// A layer ("fused_moe_layer", "..._ungated") is a grouped GEMM up, activation,
// quantisation where the formats are low, a grouped GEMM down and the weighted
// sum; "grouped_gemm_up_*" and "..._down_*" are one grouped GEMM. Work is that
// of the busiest rank, see expert_load.h. Its element-wise ops also pass over
// the stack's share of the rows whose experts other ranks hold.
//
// What the columns do not say, but times, shapes and the source's programs do:
// layers of the two shapes that only models without a gate have are ungated,
// but where a kernel multiplies a gate all the same; of one engine, foreign
// rows run at an expert of the rank; and where a router limits tokens to groups
// of experts, even rows do not reach the experts that they should (such rows
// are flagged).
absl::StatusOr<std::vector<MeasuredCase>> ReadMoeCases(absl::string_view csv);

}  // namespace mansard::calibrate
