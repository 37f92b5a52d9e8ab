// How a model is spread over devices: the sizes asked for, checked against the
// graph and the fabric.
#pragma once

#include <optional>
#include <string>

#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/hardware/fabric.h"
#include "model/workload/forward_pass.h"

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

// Layers that run only in passes with encoder positions.
bool AttendsToEncoder(const LayerKind& kind);
bool AttendsToEncoder(const ModelGraph& graph);  // Some layer.

class Layout {
 public:
  // Rules: tensor divides the query heads and the feed-forward widths (of each
  // expert, too) of every layer kind, divides the KV heads or is a multiple of
  // them, and is at most the fabric's node; it divides recurrent heads and
  // output groups likewise; the other sizes are 0 or 1 in this version. Each
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
  int KvHeadsPerRank(int kv_heads) const;
  // Elements of one cached entry of one layer on one rank; latent vectors and
  // compressed entries are on every rank. 0 where the text adds none.
  int64_t KvElementsPerRank(const Attention& attention) const;
  // The same of an encoder's positions. 0 without cross-attention.
  int64_t EncoderElementsPerRank(const Attention& attention) const;
  // Everything that one layer's cache holds of one request of the group, on one
  // rank: positions, compressed entries and encoder positions in the cache's
  // format, keys of an indexer (which every rank holds) included.
  double CachedElements(const Attention& attention,
                        const RequestGroup& group) const;
  int QueryHeadsPerRank(const Attention& attention) const;
  // What the compressor and the indexer's keep of a request until the entries
  // are complete: values and gates of the positions of one entry, of two where
  // they overlap. On every rank; 0 without compression.
  int64_t PooledStateElements(const Attention& attention) const;
  // With the rank's heads; key heads are replicated as KV heads are.
  RecurrentMixer OnRank(const RecurrentMixer& mixer) const;
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
