// Measured attention of prompts: the table "attention_prefill".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, dtype, kv_dtype, batch, q_len, kv_len
// (new tokens included), heads, kv_heads, head_dim, window, causal, latency_us,
// framework, framework_version, kernel, source and flag, in any order and among
// others. A row is one attention op, whose arithmetic is 16-bit unless the
// slice says else. size: FLOP. in_target: causal, of the engine's own kernel,
// of 512 new tokens a sequence or more.
//
// An engine has several kernels. Slices "bf16" and "bf16 kv fp8" are of the one
// that most of its causal rows with such a cache ran; where that ran in fp8
// alone, its fp8 rows are "bf16 kv fp8" as well, since to the engine's op the
// kernel's own arithmetic is a matter of speed. Other slices name what differs:
// "fp8", "bf16, triton", "bf16, not causal".
absl::StatusOr<std::vector<MeasuredCase>> ReadPrefillCases(
    absl::string_view csv);

}  // namespace mansard::calibrate
