// How a model is spread over devices: the sizes asked for, checked against the
// graph and the fabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/hardware/fabric.h"
#include "model/workload/forward_pass.h"
#include "model/workload/parallelism.h"

namespace mansard::model {

// Layers that run only in passes with encoder positions.
bool AttendsToEncoder(const LayerKind& kind);
bool AttendsToEncoder(const ModelGraph& graph);  // Some layer.

// Ranks that talk to each other.
struct RankGroup {
  int ranks = 1;
  LinkTier tier = LinkTier::kNvlink;  // The outermost that they span.
  int node_ranks = 0;                 // Of them in one node; 0: all.

  bool operator==(const RankGroup&) const = default;
};

// Devices = tensor x data x context x pipeline. Experts lie on the same
// devices, once for each context rank: expert x moe_tensor = tensor x data.
// Neighbours are, innermost first: tensor, context, data, pipeline. Among the
// tensor x data ranks that share experts, in the order of (data, tensor),
// moe_tensor is the inner and expert the outer index.
class Layout {
 public:
  // Rules:
  // - tensor divides the query heads and feed-forward widths (of shared
  //   experts, too) of every layer kind, divides the KV heads or is a multiple
  //   of them; likewise recurrent heads and output groups;
  // - expert divides the experts, moe_tensor the experts' width; their product
  //   is tensor x data; moe_tensor divides tensor or is a multiple of it; both
  //   are 1 without experts;
  // - there is a layer at least for each pipeline stage;
  // - context parallelism is of grouped and latent attention without indexers;
  // - nodes divides the devices, a node holds at most what the fabric joins,
  // and
  //   whole groups or whole shares of one; several need an rdma tier;
  // - micro_batches is 1 without a pipeline.
  // Each violation names the legal values.
  static std::optional<Layout> Create(const Parallelism& parallelism,
                                      const ModelGraph& graph,
                                      const Fabric& fabric,
                                      Violations& violations);

  int tensor() const { return sizes_.tensor; }
  int pipeline() const { return sizes_.pipeline; }
  int data() const { return sizes_.data; }
  int expert() const { return sizes_.expert; }
  int moe_tensor() const { return sizes_.moe_tensor; }
  int context() const { return sizes_.context; }
  int node_count() const { return sizes_.nodes; }
  int micro_batches() const { return sizes_.micro_batches; }
  // All sizes, as they were resolved.
  const Parallelism& sizes() const { return sizes_; }
  int stage_devices() const {
    return sizes_.tensor * sizes_.context * sizes_.data;
  }
  int device_count() const { return stage_devices() * sizes_.pipeline; }

  const RankGroup& tensor_group() const { return groups_.tensor; }
  const RankGroup& context_group() const { return groups_.context; }
  const RankGroup& data_group() const { return groups_.data; }
  const RankGroup& expert_group() const { return groups_.expert; }
  // Of data ranks that hold shares of the same experts: they gather their
  // tokens, and scatter the sums.
  const RankGroup& gather_group() const { return groups_.gather; }
  // From `stage` to the next one.
  RankGroup TransferGroup(int stage) const;
  // The tier that tensor-parallel collectives run over; empty at tensor 1.
  std::optional<LinkTier> tensor_tier() const;
  // Every tier that some group of several ranks spans.
  std::vector<LinkTier> Tiers() const;

  // Tokens travel to the ranks of their experts: several data ranks with
  // different tokens, and experts that not all of them hold.
  bool ExchangesTokens() const { return data() > 1 && expert() > 1; }
  // Tensor ranks, which have the same tokens, that each send a part of them.
  int ExchangeSlices() const {
    return tensor() > moe_tensor() ? tensor() / moe_tensor() : 1;
  }

  // Layers are spread evenly; stages before the last get those left over, the
  // nearest first, as in vLLM's get_pp_indices: the last has the head.
  int StageBegin(int stage) const;
  int StageEnd(int stage) const { return StageBegin(stage + 1); }
  int StageOf(int layer) const;
  // Layers of a kind in one stage.
  int CountInStage(const ModelGraph& graph, size_t kind, int stage) const;

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
  // Entries that one rank's cache holds of a request of `context` positions:
  // context ranks share them.
  CacheEntries EntriesOnRank(const Attention& attention, int64_t context) const;
  int QueryHeadsPerRank(const Attention& attention) const;
  // What the compressor and the indexer's keep of a request until the entries
  // are complete: values and gates of the positions of one entry, of two where
  // they overlap. On every rank; 0 without compression.
  int64_t PooledStateElements(const Attention& attention) const;
  // With the rank's heads; key heads are replicated as KV heads are.
  RecurrentMixer OnRank(const RecurrentMixer& mixer) const;
  // Of a width that the ranks share: of a dense feed-forward, of the shared
  // experts.
  int64_t PerRank(int64_t width) const { return width / tensor(); }
  // Of the width of one expert.
  int64_t ExpertWidthPerRank(int64_t width) const {
    return width / moe_tensor();
  }
  int ExpertsPerRank(int experts) const { return experts / expert(); }
  // The vocabulary is padded up to a multiple of the ranks.
  int64_t VocabularyPerRank(const ModelGraph& graph) const;

 private:
  struct Groups {
    RankGroup tensor;
    RankGroup context;
    RankGroup data;
    RankGroup expert;
    RankGroup gather;
    // To the next stage, in a node and across.
    RankGroup transfer;
    RankGroup node_transfer;
  };
  Layout(const Parallelism& sizes, int layers, const Fabric& fabric);
  int NodeDevices() const { return device_count() / sizes_.nodes; }

  Parallelism sizes_;
  int layers_;
  Groups groups_;
};

}  // namespace mansard::model
