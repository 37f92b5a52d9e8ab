// The slow counter's layers, one after the other: norms, residual, reductions
// and what stands between.
#pragma once

#include <cstdint>
#include <string>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "tests/reference/tally.h"

namespace mansard::testing {

class LayerCounter {
 public:
  // `input_norm`: the first norm stands at the input.
  LayerCounter(const model::ModelGraph& graph, const model::ForwardPass& pass,
               const ReferenceOptions& options, bool input_norm, Tally& tally);

  void Count(const model::LayerKind& kind);
  // A branch that is not added to the residual yet.
  bool open() const { return open_; }

  // A norm of the hidden size; `residual`: adds it first.
  void Norm(const std::string& part, bool residual);

 private:
  void Mixer(const model::LayerKind& kind);
  bool FeedForward(const model::LayerKind& kind);
  void Parallel(const model::LayerKind& kind);
  void Open(const std::string& branch, const std::string& norm,
            model::NormPlacement norms);
  void Close(const std::string& branch, const std::string& part,
             model::NormPlacement norms, bool last);
  void AllReduce(const std::string& part);
  void LayerInput();

  const model::ModelGraphSpec& spec_;
  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_;
  const int64_t tokens_;
  const int norm_vectors_;
  bool first_;
  bool open_ = false;
  Tally& tally_;
};

}  // namespace mansard::testing
