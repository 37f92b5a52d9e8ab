// The formats that a pass runs in.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "model/base/format.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// Operands of one class of GEMMs, and the format whose rate they run at.
struct GemmFormats {
  Format weights = Format::kBf16;
  Format activations = Format::kBf16;
  Format compute = Format::kBf16;

  // Weights are widened on their way to the unit.
  bool weight_only() const {
    return TraitsOf(weights).element_bits < TraitsOf(activations).element_bits;
  }

  bool operator==(const GemmFormats&) const = default;
};

// By class.
using LinearTable = std::array<GemmFormats, kLinearClassCount>;

// The formats of a pass, resolved against the device.
struct PassFormats {
  Precision precision;             // What layers follow where nothing differs.
  Format hidden = Format::kBf16;   // Residual stream and GEMM outputs.
  Format native = Format::kBf16;   // Norms, biases, tables by default.
  Format compute = Format::kBf16;  // Of GEMMs that follow `precision`.
  Format head_compute = Format::kBf16;  // Of GEMMs that stay wide.
  // Of layers of each kind. Kinds beyond its end: all as `uniform`.
  std::vector<LinearTable> kinds;
  LinearTable uniform;
  GemmFormats head;
  Format embedding = Format::kBf16;

  const LinearTable& OfKind(size_t kind) const {
    return kind < kinds.size() ? kinds[kind] : uniform;
  }
};

}  // namespace mansard::model
