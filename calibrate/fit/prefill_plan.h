// What "tiled-prefill" families start from.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"
#include "model/hardware/device.h"
#include "model/hardware/kernel_families.h"

namespace mansard::calibrate {

// The kernels that prompts may run on the device, one family each: they differ
// in tiles and traits, which rows tell apart only as a whole. Parameters are
// the performance model's design's, where it has the architecture. Without ids.
std::vector<model::TiledPrefillFamily> PrefillPriors(
    const model::Device& device);

// What rows may move of such a family: the rates of the head sizes that they
// have tell nothing of others, which then stay at their priors.
std::vector<FreeParameter> FreeOfPrefill();

// Of the table "attention_prefill", slices "bf16" and "bf16 kv fp8": one plan a
// kernel.
std::vector<FitPlan> PrefillPlans(const model::Device& device,
                                  const MeasuredCase& measured);
// Of the table "mla", slices "prefill bf16" and "prefill bf16 kv fp8".
std::vector<FitPlan> LatentPrefillPlans(const model::Device& device,
                                        const MeasuredCase& measured);

}  // namespace mansard::calibrate
