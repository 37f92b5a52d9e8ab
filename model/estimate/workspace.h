// What a step needs beside weights and cache, on one rank.
#pragma once

#include <cstdint>

#include "model/base/units.h"
#include "model/graph/model_graph.h"
#include "model/hardware/engine_memory.h"
#include "model/lower/pass_formats.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Activations at their largest, in closed form:
//
//   fixed + max(sampling, layer), over T tokens and S sequences,
//   sampling = S x vocabulary x bytes_per_logit + (T + S) x hidden state
//   layer    = T x (2 x hidden state + the widest pair of tensors in a layer)
//
// T and S are the engine's limits, or the step's own numbers where those are
// larger: the engine makes room for its largest step when it starts. Logits
// are gathered: every rank has the whole vocabulary.
class Workspace {
 public:
  Workspace(const ModelGraph& graph, const Layout& layout,
            const PassFormats& formats, const EngineMemory& engine);

  Bytes For(int64_t tokens, int64_t logit_positions) const;

 private:
  Bytes fixed_;
  Bytes logits_;  // Of one sequence.
  Bytes hidden_;  // Of one token.
  Bytes layer_;   // Of one token.
  int64_t token_budget_;
  int64_t sequence_limit_;
};

// Elements a token of the largest two tensors that stand beside each other
// within a layer: a projection's output, or a feed-forward's before and after
// its activation function.
double WidestElements(const ModelGraph& graph, const Layout& layout);

}  // namespace mansard::model
