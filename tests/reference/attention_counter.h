// The slow counter's attention: projections, scores and cache of one layer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "tests/reference/tally.h"

namespace mansard::testing {

class AttentionCounter {
 public:
  // `norm_bias`: the model's norms have a bias as well.
  AttentionCounter(const model::ForwardPass& pass,
                   const ReferenceOptions& options, int64_t hidden,
                   bool norm_bias, Tally& tally);

  void operator()(const model::GroupedQueryAttention& attention);
  void operator()(const model::CrossAttention& attention);
  // In latent_counter.cc.
  void operator()(const model::LatentAttention& attention);
  // In compressed_counter.cc.
  void operator()(const model::CompressedAttention& attention);

 private:
  // Heads of this rank, in the order of the unsharded model: of queries, and
  // the KV heads that they use.
  std::vector<int> QueryHeads(int all) const;
  std::set<int> KvHeads(int query_heads, int kv_heads) const;
  void CountScores(int64_t scores, int64_t multiply_adds_each);
  void MoveScoreRow(int64_t scores);
  // Norms of query and key heads together, over `rows` rows.
  void NormHeads(const std::string& part, model::QkNorm norm, int64_t rows,
                 int64_t query_heads, int64_t kv_heads, int64_t size);
  void Rotate(const std::string& part, int64_t heads, int64_t rotated);
  void Gate(int64_t columns);
  // One kernel a group reads a logit a head.
  void Sinks(int64_t heads);

  void Request(const model::RequestGroup& group,
               const model::GroupedQueryAttention& attention);
  void Request(const model::RequestGroup& group,
               const model::CrossAttention& attention);

  void Expand(const model::LatentAttention& attention, int64_t heads);
  // `outputs` from `inputs` for each head and token, each head with a matrix of
  // its own.
  void Absorb(const char* part, int64_t tokens, int64_t heads, int64_t outputs,
              int64_t inputs);
  // On latent vectors; `top_k` of the positions (0: all).
  void Latents(const model::RequestGroup& group,
               const model::LatentAttention& attention, int64_t heads,
               int64_t top_k);
  void Expanded(const model::RequestGroup& group,
                const model::LatentAttention& attention, int64_t heads);

  // In index_counter.cc: of single positions, and of entries of `pooled`.
  void Index(const model::SparseIndexer& indexer, int64_t query_width,
             int64_t rotated, const model::CompressedAttention* pooled);
  void IndexScores(const model::RequestGroup& group,
                   const model::SparseIndexer& indexer, int64_t ratio);

  void Pool(const std::string& part,
            const model::CompressedAttention& attention, int64_t size);
  void Request(const model::RequestGroup& group,
               const model::CompressedAttention& attention, int64_t heads);
  void GroupedOutput(const model::CompressedAttention& attention);

  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_;
  const bool norm_bias_;
  const int64_t tokens_;
  const double element_;  // Bytes of activations,
  const double cached_;   // and of the cache.
  Tally& tally_;
};

// Entries of `ratio` positions that are complete when a token's own position
// is there. Drafts share a tile: each sees what the last one sees.
int64_t EntriesSeen(const model::RequestGroup& group, int64_t token,
                    int64_t ratio);

// Of entries 0 .. seen - 1 at most `top_k` (0: all), those that no token has
// chosen yet first: the most that tokens can read.
std::vector<int64_t> Choose(int64_t seen, int64_t top_k,
                            const std::set<int64_t>& chosen);

}  // namespace mansard::testing
