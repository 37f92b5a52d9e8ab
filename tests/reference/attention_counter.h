// The slow counter's attention: projections, scores and cache of one layer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "tests/reference/tally.h"

namespace mansard::testing {

class AttentionCounter {
 public:
  AttentionCounter(const model::ForwardPass& pass,
                   const ReferenceOptions& options, int64_t hidden,
                   Tally& tally);

  void operator()(const model::GroupedQueryAttention& attention);
  void operator()(const model::LatentAttention& attention);

 private:
  // Query heads of this rank, in the order of the unsharded model.
  std::vector<int> QueryHeads(int all) const;
  void CountScores(int64_t scores, int64_t multiply_adds_each);
  void MoveScoreRow(int64_t scores);

  void Request(const model::RequestGroup& group,
               const model::GroupedQueryAttention& attention);

  void Expand(const model::LatentAttention& attention, int64_t heads);
  // `outputs` from `inputs` for each head and decoded token, each head with a
  // matrix of its own.
  void Absorb(const char* part, int64_t heads, int64_t outputs, int64_t inputs);
  void Decode(const model::RequestGroup& group,
              const model::LatentAttention& attention, int64_t heads);
  void Prefill(const model::RequestGroup& group,
               const model::LatentAttention& attention, int64_t heads);

  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_;
  const int64_t tokens_;
  const double element_;  // Bytes of activations,
  const double cached_;   // and of the cache.
  Tally& tally_;
};

}  // namespace mansard::testing
