// The ops of a layer's latent attention with its projections, as engines
// measure it alone.
#pragma once

#include <optional>

#include "model/hardware/device.h"
#include "model/hardware/kernel_stack.h"
#include "model/ops/op.h"

namespace mansard::calibrate {

struct MlaModule {
  model::LatentAttentionShape attention;
  int64_t hidden_size = 7168;  // DeepSeek-V3's, as the next.
  int64_t query_lora_rank = 1536;
  model::Format weights = model::Format::kBf16;  // Of the projections.
};

// Latent and query projections, norms and rotation, expansion (prompts) or
// absorption on both sides (decodes), attention, output projection; input
// quantisation where the projections compute in fewer bits. Empty where device
// or stack run none of the formats.
std::optional<model::OpList> MlaModuleOps(const MlaModule& module,
                                          const model::Device& device,
                                          const model::KernelStack& stack);

// The expansion (to `n` of `k` values in each head) of absorbed attention: a
// weight matrix a head.
model::Op AbsorptionOp(int64_t tokens, int heads, int64_t n, int64_t k,
                       model::Format format);

}  // namespace mansard::calibrate
