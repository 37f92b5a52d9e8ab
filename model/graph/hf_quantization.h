// How a checkpoint is quantised, as its config.json says.
#pragma once

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// The main scheme of `quantization_config`, `quantization` or
// `compression_config`, over `native`: what the scheme does not change keeps
// its type. One scheme for all weights: what the file leaves out of it is not
// told apart, which is noted. Violations for methods, bits and algorithms that
// no Format stands for.
Precision ReadQuantization(HfFile& file, Precision native);

}  // namespace mansard::model
