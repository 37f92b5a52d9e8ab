// The slow counter's recurrent mixers: projections, convolution and state of
// one layer.
#pragma once

#include <cstdint>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "tests/reference/tally.h"

namespace mansard::testing {

class RecurrentCounter {
 public:
  RecurrentCounter(const model::ForwardPass& pass,
                   const ReferenceOptions& options, int64_t hidden,
                   Tally& tally);

  // `beside`: an attention reads the same input, quantised once, and the two
  // outputs are summed.
  void Count(const model::RecurrentMixer& mixer, bool beside);

 private:
  void Input(const model::RecurrentMixer& m);
  void Convolution(const model::RecurrentMixer& m);
  void MambaInput(const model::RecurrentMixer& m);
  void Vectors(const model::RecurrentMixer& m);
  void Request(const model::RequestGroup& group,
               const model::RecurrentMixer& m);
  void TokenInput(const model::RecurrentMixer& m);
  void Update(const model::RecurrentMixer& m);
  void Chunk(const model::RecurrentMixer& m, int64_t size);
  void ChunkProducts(const model::RecurrentMixer& m, int64_t size);
  void InverseOfTriangle(int64_t size);
  void OutputNorm(const model::RecurrentMixer& m);
  void AllReduce(const char* part, int64_t columns, double size);

  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_;
  const int64_t tokens_;
  const double element_;  // Bytes of activations,
  const double native_;   // of weight vectors,
  const double state_;    // and of the state.
  int64_t heads_ = 0;     // This rank's.
  int64_t key_heads_ = 0;
  Tally& tally_;
};

}  // namespace mansard::testing
