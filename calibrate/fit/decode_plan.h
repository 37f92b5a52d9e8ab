// What "split-kv" families start from.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"
#include "model/hardware/device.h"
#include "model/hardware/kernel_families.h"

namespace mansard::calibrate {

// The kernels that decodes may run on the device, one family each: they differ
// in which query heads share a read of the cache, which rows tell apart only as
// a whole. Parameters are the performance model's design's where it has the
// architecture, refined by fits of this formula; rates are scaled to the
// device. `cache_bytes`: of an element of the cache. Without ids.
std::vector<model::SplitDecodeFamily> DecodePriors(const model::Device& device,
                                                   double cache_bytes);
// The same on latent vectors: kernels differ in the query rows of a tile, and
// some do not split the cache.
std::vector<model::SplitDecodeFamily> LatentDecodePriors(
    const model::Device& device);

// Of the table "attention_decode": one plan a kernel. Rows that ran a kernel
// that an engine falls back on have none.
std::vector<FitPlan> DecodePlans(const model::Device& device,
                                 const MeasuredCase& measured);
// Of the table "mla", rows of decodes' attention alone: projections would leave
// their errors in it.
std::vector<FitPlan> LatentDecodePlans(const model::Device& device,
                                       const MeasuredCase& measured);

}  // namespace mansard::calibrate
