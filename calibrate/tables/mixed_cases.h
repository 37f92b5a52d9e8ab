// Measured attention of mixed batches: the table "attention_mixed_batch".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, dtype, kv_dtype, prefill_q_len,
// prefill_prior_kv_len, decode_batch, decode_kv_len (the new token included),
// heads, kv_heads, head_dim, latency_us, framework, framework_version, kernel
// and source, in any order and among others. A row is one call over a chunk of
// one prompt and a batch of decodes: two ops. Slices as of
// "attention_prefill". size: FLOP. in_target: all.
absl::StatusOr<std::vector<MeasuredCase>> ReadMixedCases(absl::string_view csv);

}  // namespace mansard::calibrate
