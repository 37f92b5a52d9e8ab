// How a model is spread over devices: the sizes asked for, checked against the
// graph and the fabric.
#pragma once

#include <optional>
#include <string>

#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/hardware/fabric.h"

namespace mansard::model {

// As a caller writes it; 0 means 1.
struct Parallelism {
  int tensor = 0;
  int pipeline = 0;
  int expert = 0;
  int data = 0;
  int moe_tensor = 0;
  int context = 0;
  int nodes = 0;
};

class Layout {
 public:
  // Rules: tensor divides the query heads and the feed-forward widths (of each
  // expert, too) of every layer kind, divides the KV heads or is a multiple of
  // them, and is at most
  // the fabric's node; the other sizes are 0 or 1 in this version. Each
  // violation names the legal values.
  static std::optional<Layout> Create(const Parallelism& parallelism,
                                      const ModelGraph& graph,
                                      const Fabric& fabric,
                                      Violations& violations);

  int tensor() const { return tensor_; }
  int device_count() const { return tensor_; }
  // The tier that tensor-parallel collectives run over; empty at tensor 1.
  std::optional<LinkTier> tensor_tier() const { return tensor_tier_; }

  // KV heads that one rank holds: replicated when there are fewer than ranks.
  int KvHeadsPerRank(const GroupedQueryAttention& attention) const;
  // What one token adds to one layer's cache on one rank; latent vectors are
  // on every rank.
  int64_t KvElementsPerRank(const Attention& attention) const;
  int QueryHeadsPerRank(const Attention& attention) const;
  // Of a width that the ranks share: of a dense feed-forward, of each expert,
  // of the shared experts.
  int64_t PerRank(int64_t width) const { return width / tensor_; }
  // The vocabulary is padded up to a multiple of the ranks.
  int64_t VocabularyPerRank(const ModelGraph& graph) const;

 private:
  Layout(int tensor, std::optional<LinkTier> tier)
      : tensor_(tensor), tensor_tier_(tier) {}
  int tensor_;
  std::optional<LinkTier> tensor_tier_;
};

}  // namespace mansard::model
