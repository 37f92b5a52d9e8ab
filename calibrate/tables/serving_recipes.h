// How engines were set up for served runs: what no column says, but the public
// recipes of these benchmarks do.
#pragma once

#include <cstdint>

#include "calibrate/tables/serving_rows.h"
#include "model/serving/serving_spec.h"

namespace mansard::calibrate {

struct ServingRecipe {
  int64_t max_batched_tokens = 0;  // 0: the engine's own.
  model::Admission admission;
};

// Runs of 1024 and 8192 tokens at fixed concurrency are taken to be those of
// the InferenceX benchmark (commit 843c6254f and before, benchmarks/*.sh and
// .github/configs/nvidia-master.yaml): lengths, numbers in flight, versions and
// images are the same. Of all other runs nothing is known. Rules over columns:
// none looks at a time.
ServingRecipe RecipeOf(const ServingRow& row);

}  // namespace mansard::calibrate
