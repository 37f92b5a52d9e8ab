// Measured latent attention (DeepSeek): the table "mla".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns phase, op, device, dtype, kv_dtype, batch,
// q_len, kv_len (the new tokens included), heads (of the rank), kv_lora_rank,
// rope_dim, qk_nope_dim, v_dim, latency_us, framework, framework_version,
// kernel, source and flag, in any order and among others. By op:
//   mla_attention_core: the attention alone; decodes absorbed, prompts on
//     expanded keys and values, but absorbed too where SGLang serves them on
//     Hopper. Slices "decode bf16 kv fp8", "prefill bf16"; in_target.
//   mla_bmm_q_absorb, mla_bmm_v_up: the product with the expansion, a weight
//     matrix a head; batch counts tokens. Slices "absorb bf16", "expand fp8".
//   mla_module_with_projections_...: a layer's whole attention without its
//     input norm, of DeepSeek-V3's hidden size and query rank. Slices "decode
//     module fp8-block, bf16 kv fp8".
// Where an engine has several kernels, see kernel_slices.h. size: bytes of
// cache; of the products, FLOP.
absl::StatusOr<std::vector<MeasuredCase>> ReadMlaCases(absl::string_view csv);

}  // namespace mansard::calibrate
