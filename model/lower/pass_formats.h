// The formats that a pass runs in.
#pragma once

#include "model/base/format.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// The formats of a pass, resolved against the device.
struct PassFormats {
  Precision precision;
  Format hidden = Format::kBf16;   // Residual stream and GEMM outputs.
  Format native = Format::kBf16;   // Embedding, head, norms, biases.
  Format compute = Format::kBf16;  // Layer GEMMs run at this rate.
  Format head_compute = Format::kBf16;
};

}  // namespace mansard::model
