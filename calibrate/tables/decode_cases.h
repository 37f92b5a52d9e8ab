// Measured attention over a cache, one new token a sequence: the table
// "attention_decode".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, dtype, kv_dtype, batch, kv_len (the new
// token included), heads, kv_heads, head_dim, window, latency_us, framework,
// framework_version, kernel, source and flag, in any order and among others.
// Slices are formats: "bf16", "bf16 kv fp8". An engine has one kernel for most
// shapes of a slice; rows that ran another, as the one it falls back on, are a
// slice of their own ("bf16 kv fp8, triton") and not in_target. size: bytes of
// cache.
absl::StatusOr<std::vector<MeasuredCase>> ReadDecodeCases(
    absl::string_view csv);

}  // namespace mansard::calibrate
