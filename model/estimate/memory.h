// What a rank holds, and whether it fits.
#pragma once

#include <cstdint>

#include "model/base/units.h"
#include "model/graph/model_graph.h"
#include "model/hardware/device.h"
#include "model/lower/lower.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

struct MemoryFootprint {
  Bytes weights;   // With scales; embedding and head included.
  Bytes kv_cache;  // All requests of the pass, new tokens included.
  // Recurrent states and the last inputs of convolutions, of all requests of
  // the pass: as much for a request of any length.
  Bytes state;
  Bytes capacity;
  // Beside the weights and the pass's states, as windows are not full. 0 also
  // where no layer's cache grows: the states then bound the requests, and
  // nothing the tokens.
  int64_t kv_token_capacity = 0;
  bool fits = false;

  Bytes needed() const { return weights + kv_cache + state; }
  Bytes free() const { return capacity - needed(); }
};

// Per rank. Activation workspace and framework reserve are not counted.
// `ops` is the pass as lowered: each says which weights the rank holds for it,
// so time and memory cannot disagree.
MemoryFootprint FootprintOf(const OpList& ops, const ModelGraph& graph,
                            const ForwardPass& pass, const Layout& layout,
                            const PassFormats& formats, const Device& device);

}  // namespace mansard::model
