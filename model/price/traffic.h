// What an op moves.
#pragma once

#include "model/base/units.h"

namespace mansard::model {

// Bytes that cross each level, as priced.
struct Traffic {
  Bytes hbm_weights;
  Bytes hbm_kv;
  Bytes hbm_activations;
  Bytes l2;       // Activations that stay resident, and tile re-reads.
  Bytes link;     // Per rank and direction, on the wire.
  Bytes network;  // The same between nodes, where `link` is inside them.

  Bytes hbm() const { return hbm_weights + hbm_kv + hbm_activations; }
};

}  // namespace mansard::model
